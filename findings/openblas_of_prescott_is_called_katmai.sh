#!/usr/bin/env bash
# NumPy 2.4.6's OpenBLAS 0.3.31 says that it is another one than was asked for: OPENBLAS_CORETYPE=Prescott is "Katmai".
#
# The kernels are Prescott's. The library tells its core by comparing tables, finds the first that is the same, and names
# that: "Katmai", a processor of 1999 that no 64-bit build is for. OPENBLAS_VERBOSE=2 prints the same name. Who checks, or
# writes down, which kernels a result was computed with sees a name that was never set. Haswell and Sandybridge are right.
set -euo pipefail
[ "$(uname -m)" = x86_64 ] || { echo "cannot be seen: not x86-64"; exit; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 threadpoolctl==3.6.0
cat >program.py <<'PROGRAM'
import os

import numpy  # noqa: F401
from threadpoolctl import threadpool_info

print(os.environ["OPENBLAS_CORETYPE"], [info["architecture"] for info in threadpool_info()])
PROGRAM
for core in Prescott Sandybridge Haswell; do
    OPENBLAS_CORETYPE=$core here/bin/python program.py
done | tee seen
diff seen - <<'EXPECTED'
Prescott ['Katmai']
Sandybridge ['Sandybridge']
Haswell ['Haswell']
EXPECTED
echo "as described"
