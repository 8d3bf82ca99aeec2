#!/usr/bin/env bash
# scipy 1.18.1: `special.gammaln`, `betaln`, `poch` and `gammaincc` of a number without a reciprocal are inf, 0 or negative.
#
# Near 0 the gamma function is 1 / x, so its logarithm is -log(x): 713.8 at x = 1e-310. `gammaln` and `betaln` are infinite
# from 5.56e-309 down, where 1 / x is; `loggamma` of the same number as a complex one, and Python's `math.lgamma`, are right.
# `poch(x, 1)`, which is x, is 0. `gammaincc(x, 1)`, a probability, is negative there, and 0 at the second argument 5.
# Seen: below.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check scipy==1.18.1 numpy==2.5.5 mpmath==1.3.0 2>/dev/null
venv/bin/python - <<'PROGRAM' | tee seen
import math

import mpmath
from scipy import special

for x in (1e-300, 1e-310):
    print(f"x = {x:g}: math.lgamma {math.lgamma(x):.6f}, loggamma {special.loggamma(complex(x)).real:.6f}", end=", ")
    print(f"gammaln {special.gammaln(x):.6f}, betaln(x, 1) {special.betaln(x, 1.0):.6f}, poch(x, 1) {special.poch(x, 1.0):.3g}")
    for y in (1.0, 5.0):
        truth = mpmath.gammainc(mpmath.mpf(x), y) / mpmath.gamma(x)
        print(f"  gammaincc(x, {y:g}) / x = {special.gammaincc(x, y) / x:.4f}, truth {float(truth / x):.4f}")
PROGRAM
diff seen - <<'EXPECTED'
x = 1e-300: math.lgamma 690.775528, loggamma 690.775528, gammaln 690.775528, betaln(x, 1) 690.775528, poch(x, 1) 1e-300
  gammaincc(x, 1) / x = 0.2194, truth 0.2194
  gammaincc(x, 5) / x = 0.0011, truth 0.0011
x = 1e-310: math.lgamma 713.801379, loggamma 713.801379, gammaln inf, betaln(x, 1) inf, poch(x, 1) 0
  gammaincc(x, 1) / x = -0.5772, truth 0.2194
  gammaincc(x, 5) / x = 0.0000, truth 0.0011
EXPECTED
echo "as described"
