#!/usr/bin/env bash
# JAX 0.12.0.1: `jax.scipy.special.spence` has no derivative from 1 on: it is 0 at 1, where -1 is right, and NaN above.
#
# The derivative is log(x) / (1 - x), smooth at 1 and -log(2) at 2. Values are right to the last digits everywhere.
# JAX 0.12 needs Python 3.12: PYTHON=python3.12 says which one, where `python3` is older.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check jax==0.12.0.1 jaxlib==0.12.0.1
cat >program.py <<'PROGRAM'
import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
spence = jax.scipy.special.spence
for x in (0.5, 1.0, 1.5, 2.0):
    numeric = (spence(x + 1e-6) - spence(x - 1e-6)) / 2e-6
    print(f"{x}: gradient {jax.grad(spence)(x):.6f}, difference of values {numeric:.6f}")
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
0.5: gradient -1.386294, difference of values -1.386294
1.0: gradient 0.000000, difference of values -1.000000
1.5: gradient nan, difference of values -0.810930
2.0: gradient nan, difference of values -0.693147
EXPECTED
echo "as described"
