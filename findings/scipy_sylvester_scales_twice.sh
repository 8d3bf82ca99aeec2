#!/usr/bin/env bash
# SciPy 1.17.1 (and 1.18.1): large solutions of Sylvester's and Lyapunov's equations come back as small ones.
#
# LAPACK's trsyl solves for `scale` times the right side where the solution might overflow. The solution is its result
# divided by `scale`; SciPy multiplies. From about 1e292 on a number of the solution, 2e293, is returned as 2e-293, with
# no warning, by `solve_sylvester` and by `solve_continuous_lyapunov`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.py <<'PROGRAM'
import numpy as np
from scipy.linalg import solve_continuous_lyapunov, solve_sylvester
a = np.array([[0.25]])
for q in (1e290, 1e293):
    right_side = np.array([[q]])
    print(f"{2 * q:.0e}", *(f"{f.item():.0e}" for f in (solve_sylvester(a, a, right_side), solve_continuous_lyapunov(a, right_side))))
PROGRAM
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 2>/dev/null
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
2e+290 2e+290 2e+290
2e+293 2e-293 2e-293
EXPECTED
echo "as described"
