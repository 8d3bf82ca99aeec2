#!/usr/bin/env bash
# SciPy 1.17.1: the density of `dgamma` is NaN for shapes above 171, where that of `gamma` and its own logarithm are right.
#
# `dgamma` is the gamma distribution mirrored at 0, with half the density. `dgamma.pdf(200, 200)` is NaN (with warnings of
# an overflow), `gamma.pdf(200, 200) / 2` is 0.0141, and so is `exp(dgamma.logpdf(200, 200))`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 2>/dev/null
cat >program.py <<'PROGRAM'
import numpy as np
from scipy import stats
np.seterr(all="ignore")
for a in (100.0, 200.0):
    print(a, *(f"{y:.5f}" for y in (stats.dgamma.pdf(a, a), np.exp(stats.dgamma.logpdf(a, a)), stats.gamma.pdf(a, a) / 2)))
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
100.0 0.01993 0.01993 0.01993
200.0 nan 0.01410 0.01410
EXPECTED
echo "as described"
