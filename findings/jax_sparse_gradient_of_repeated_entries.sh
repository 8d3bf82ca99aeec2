#!/usr/bin/env bash
# JAX 0.12.0.1: `jax.experimental.sparse.grad` of a BCOO matrix with a repeated index is, as a matrix, twice as large.
#
# The matrix [[1 + 2, 0], [0, 5]] is given by three entries, two of them at (0, 0). The gradient of its sum of squares is
# [[6, 0], [0, 10]]. What comes back has the entries 6, 6 and 10 at the same indices, so `todense` gives 12 in place of 6.
# Once `sum_duplicates` has made one entry of the two, the gradient is right.
# JAX 0.12 needs Python 3.12: PYTHON=python3.12 says which one, where `python3` is older.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check jax==0.12.0.1 jaxlib==0.12.0.1
cat >program.py <<'PROGRAM'
import jax
import jax.numpy as jnp
from jax.experimental import sparse

jax.config.update("jax_platforms", "cpu")
repeated = sparse.BCOO((jnp.array([1.0, 2.0, 5.0]), jnp.array([[0, 0], [0, 0], [1, 1]])), shape=(2, 2))
gradient = sparse.grad(lambda m: jnp.sum(m.todense() ** 2))
print(repeated.todense().tolist())
print("repeated:", gradient(repeated).todense().tolist())
print("summed:", gradient(repeated.sum_duplicates()).todense().tolist())
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
[[3.0, 0.0], [0.0, 5.0]]
repeated: [[12.0, 0.0], [0.0, 10.0]]
summed: [[6.0, 0.0], [0.0, 10.0]]
EXPECTED
echo "as described"
