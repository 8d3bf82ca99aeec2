#!/usr/bin/env bash
# JAX 0.12.0.1: `jax.scipy.special.hyp1f1` of a negative argument loses its digits, then its sign, then is NaN.
#
# 1F1(2.5; 3; -40) is 1.1525e-4 (mpmath, and Kummer's transformation with SciPy); JAX gives -0.152, in double precision.
# A power series is summed whose terms alternate and cancel. Gradients follow the values.
# JAX 0.12 needs Python 3.12: PYTHON=python3.12 says which one, where `python3` is older.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check jax==0.12.0.1 jaxlib==0.12.0.1 mpmath==1.4.1
cat >program.py <<'PROGRAM'
import jax
import mpmath

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
for x in (-5.0, -10.0, -20.0, -40.0, -100.0):
    value, truth = float(jax.scipy.special.hyp1f1(2.5, 3.0, x)), mpmath.hyp1f1(2.5, 3, x)
    right = [digits for digits in (3, 9) if abs(value - truth) < abs(truth) * mpmath.mpf(10) ** -digits]
    print(f"{x}: {max(right, default=0)} digits, {'positive' if value > 0 else 'not positive'}")
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
-5.0: 9 digits, positive
-10.0: 9 digits, positive
-20.0: 3 digits, positive
-40.0: 0 digits, not positive
-100.0: 0 digits, not positive
EXPECTED
echo "as described"
