#!/usr/bin/env bash
# scipy 1.17.1: `special.stdtr` and `stats.t.cdf` have steps near t = 0: half of the digits of `stats.cauchy.cdf`.
#
# Student's distribution function with one degree of freedom is Cauchy's, 1/2 + atan(t) / pi. `stdtr(1, t)` is off by 1e-9
# at t = -1e-8 and is exactly 1/2 at -1e-9: a quotient of differences there is 0 or half as large again as the density.
# `stats.cauchy.cdf` is right to the last digit there. At |t| of 1e-3 all three agree.
# Seen: below.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6 2>/dev/null
venv/bin/python - <<'PROGRAM' | tee seen
import math

from scipy import special, stats

for t in (-1e-3, -1e-8, -1e-9):
    truth = math.atan(t) / math.pi
    print(f"t = {t:g}: slope to 0, times pi:", end=" ")
    print(f"stdtr {abs(special.stdtr(1, t) - 0.5) / -t * math.pi:.2f},", end=" ")
    print(f"t.cdf {abs(stats.t.cdf(t, 1) - 0.5) / -t * math.pi:.2f},", end=" ")
    print(f"cauchy.cdf {(stats.cauchy.cdf(t) - 0.5) / t * math.pi:.2f}, truth {truth / t * math.pi:.2f}")
PROGRAM
diff seen - <<'EXPECTED'
t = -0.001: slope to 0, times pi: stdtr 1.00, t.cdf 1.00, cauchy.cdf 1.00, truth 1.00
t = -1e-08: slope to 0, times pi: stdtr 1.49, t.cdf 1.49, cauchy.cdf 1.00, truth 1.00
t = -1e-09: slope to 0, times pi: stdtr 0.00, t.cdf 0.00, cauchy.cdf 1.00, truth 1.00
EXPECTED
echo "as described"
