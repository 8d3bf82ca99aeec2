#!/usr/bin/env bash
# SciPy 1.17.1: `truncnorm` between ends that lie near each other loses as many digits as the ends share.
#
# Between 0 and 1e-9 the distribution is uniform to 18 digits: `sf` at 1e-10 is 0.9, and the density 1e9. SciPy gives
# 0.90000033 and 1.00000017e9; between 0 and 1e-12 0.89983 in place of 0.9. It subtracts logarithms of the masses of
# half-lines, which are rounded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 2>/dev/null
cat >program.py <<'PROGRAM'
from scipy import stats
for width in (1e-9, 1e-12):
    sf, pdf = stats.truncnorm.sf(width / 10, 0, width), stats.truncnorm.pdf(width / 10, 0, width) * width
    print(width, *(f"off by more than {limit}: {max(abs(sf - 0.9), abs(pdf - 1)) > limit}" for limit in (1e-6, 1e-8)), sep="; ")
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
1e-09; off by more than 1e-06: False; off by more than 1e-08: True
1e-12; off by more than 1e-06: True; off by more than 1e-08: True
EXPECTED
echo "as described"
