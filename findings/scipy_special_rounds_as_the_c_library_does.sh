#!/usr/bin/env bash
# SciPy 1.17.1: one wheel gives other last bits on processors with and without fused multiply-add, outside BLAS as well.
#
# Switches of NumPy (NPY_DISABLE_CPU_FEATURES) and of OpenBLAS (OPENBLAS_CORETYPE) change nothing here: special functions
# call exp, log, pow and sin of the C library, and glibc chooses these by the processor. GLIBC_TUNABLES shows it on any
# x86-64 processor with FMA (glibc 2.26 and later; elsewhere this script says that it cannot be seen).
# So results of k0, yv, jv, betainc and boxcox1p that were kept on one machine differ in the last place on another.
set -euo pipefail
if ! grep -qw fma /proc/cpuinfo 2>/dev/null || ! getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
    echo "cannot be seen: no FMA, or no glibc"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"${PYTHON:-python3}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1
cat >program.py <<'PROGRAM'
import hashlib

import numpy as np
import scipy.special as sp

x = np.linspace(0.05, 0.95, 20001)
functions = {
    "k0": lambda: sp.k0(x),
    "yv": lambda: sp.yv(1.5, x),
    "jv": lambda: sp.jv(2.5, 10 * x),
    "betainc": lambda: sp.betainc(2.3, 1.7, x),
    "boxcox1p": lambda: sp.boxcox1p(x, 0.3),
    "sqrt": lambda: np.sqrt(x),
}
for name, function in functions.items():
    print(name, hashlib.sha256(function().tobytes()).hexdigest())
PROGRAM
here/bin/python program.py >usual
NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" OPENBLAS_CORETYPE=Haswell here/bin/python program.py >switched
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX_Usable,-AVX2_Usable,-FMA_Usable here/bin/python program.py >plain
cmp usual switched && echo "the same without AVX-512 in NumPy and OpenBLAS"
paste -d " " usual plain | awk '{ print $1, $2 == $4 ? "same" : "other last bits" }' | tee seen
diff seen - <<'EXPECTED'
k0 other last bits
yv other last bits
jv other last bits
betainc other last bits
boxcox1p other last bits
sqrt same
EXPECTED
echo "as described"
