#!/usr/bin/env bash
# scipy 1.17.1: `logsf` of `stats.burr` is -inf from x = 1e6 on, though its tail falls as a power of x only.
#
# Burr's distribution (and Fisk's, its special case d = 1) is used for incomes and losses because its survival function is
# 1 - (1 + x^-c)^-d, about d x^-c. `logsf` takes the logarithm of 1 less a rounded value: from x^-c of 1e-16 on it is -inf,
# so the likelihood of a censored observation of 1e6 is 0. `stats.burr12.logsf`, beside it, is right there.
# Seen: below, c = 3, d = 1, where the truth is -log(1 + x^3), -3 log(x) to nine digits and more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6 2>/dev/null
venv/bin/python - 2>/dev/null <<'PROGRAM' | tee seen
import math

from scipy import stats

for x in (1e3, 1e6, 1e9):
    print(f"x = {x:g}: burr {stats.burr.logsf(x, 3, 1):.4f}, fisk {stats.fisk.logsf(x, 3):.4f},", end=" ")
    print(f"burr12 {stats.burr12.logsf(x, 3, 1):.4f}, truth {-3 * math.log(x):.4f}")
PROGRAM
diff seen - <<'EXPECTED'
x = 1000: burr -20.7233, fisk -20.7233, burr12 -20.7233, truth -20.7233
x = 1e+06: burr -inf, fisk -inf, burr12 -41.4465, truth -41.4465
x = 1e+09: burr -inf, fisk -inf, burr12 -62.1698, truth -62.1698
EXPECTED
echo "as described"
