#!/usr/bin/env bash
# NumPy 2.3.5 and 2.4.6: NPY_DISABLE_CPU_FEATURES=AVX512_SKX switches AVX-512 off in one and nothing in the other.
#
# Version 2.4 calls the group X86_V4. Of a name that it does not know, NumPy warns with an ImportWarning, which Python
# does not show by default: a test run "without AVX-512" runs with it and looks the same.
# Seen on x86-64 with AVX-512: True after the old name in 2.4.6, and an empty standard error. On a processor without
# AVX-512 nothing can be seen, and the script says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# uses VERSION NAME: whether that NumPy still has its loops for AVX-512 once the name is given
uses() {
    if [ ! -d "numpy-$1" ]; then
        python3 -m venv "numpy-$1"
        "numpy-$1/bin/python" -m pip install --quiet --disable-pip-version-check "numpy==$1" 2>/dev/null
    fi
    NPY_DISABLE_CPU_FEATURES=$2 "numpy-$1/bin/python" -c '
from numpy._core import _multiarray_umath as core
groups = [name for name in core.__cpu_dispatch__ if name in ("AVX512_SKX", "X86_V4")]
print(core.__cpu_features__[groups[0]])' 2>"said-$1-$2"
}

if [ "$(uses 2.3.5 '')" != True ]; then
    echo "this processor has no AVX-512: nothing to see"
    exit
fi
for version in 2.3.5 2.4.6; do
    for name in AVX512_SKX X86_V4; do
        echo "NumPy $version, NPY_DISABLE_CPU_FEATURES=$name: AVX-512 in use $(uses "$version" "$name")," \
            "$(wc -c <"said-$version-$name") characters of warning"
    done
done | tee seen
diff seen - <<'EXPECTED'
NumPy 2.3.5, NPY_DISABLE_CPU_FEATURES=AVX512_SKX: AVX-512 in use False, 0 characters of warning
NumPy 2.3.5, NPY_DISABLE_CPU_FEATURES=X86_V4: AVX-512 in use True, 0 characters of warning
NumPy 2.4.6, NPY_DISABLE_CPU_FEATURES=AVX512_SKX: AVX-512 in use True, 0 characters of warning
NumPy 2.4.6, NPY_DISABLE_CPU_FEATURES=X86_V4: AVX-512 in use False, 0 characters of warning
EXPECTED
echo "as described"
