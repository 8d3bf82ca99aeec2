#!/usr/bin/env bash
# pytest on 64-bit ARM, emulated by QEMU: `tests/emulated.sh [arguments of pytest]`, or `make emulated`.
#
# Debian's packages and wheels for ARM are unpacked into build/emulated, once, and extensions are compiled across.
# Where that is not possible (it takes APT, and root if QEMU is not there yet) nothing is run, and a sentence says so.
set -euo pipefail
PYTHON=$(command -v "${PYTHON:-python3}")
cd "$(dirname "$0")/.."
folder=$PWD/build/emulated
root=$folder/root site=$folder/site copy=$folder/copy python=$folder/python
# on processors with SME some versions of OpenBLAS leave memory in products
core=${QEMU_CPU:-neoverse-n1}
# some three minutes of one core
tests="tests/executor/test_elementary.py tests/derivatives/test_core.py tests/ops/test_random.py tests/graph_api/test_session.py"

skip() {
    echo "No tests on emulated ARM: $1."
    exit 0
}

install() {
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || skip "this is no Debian, whose packages it takes"
    [ "$(id -u)" = 0 ] || skip "QEMU and Debian's packages for ARM cannot be fetched without root"
    dpkg --add-architecture arm64 && apt-get update -qq || skip "APT cannot be reached"
    apt-get install -y -qq --no-install-recommends qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross ||
        skip "QEMU cannot be installed"
    rm -rf "$folder"
    mkdir -p "$root" "$site" "$folder/debs/partial" "$folder/wheels"
    # as if nothing were installed, so that all that Python depends on is fetched
    touch "$folder/status"
    apt-get install -y -qq --no-install-recommends --download-only -o Dir::State::status="$folder/status" \
        -o Dir::Cache::archives="$folder/debs" -o APT::Sandbox::User=root python3:arm64 libpython3-dev:arm64 libstdc++6:arm64 ||
        skip "Debian's packages for ARM cannot be fetched"
    for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
    version=$(readlink "$root/usr/bin/python3")
    version=${version#python}
    "$PYTHON" -m pip download -q -d "$folder/wheels" --only-binary=:all: --python-version "$version" \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 \
        --platform manylinux2014_aarch64 numpy scipy setuptools pytest pytest-benchmark hypothesis mpmath h5py \
        pillow libcst || skip "wheels for ARM cannot be fetched"
    for wheel in "$folder"/wheels/*.whl; do "$PYTHON" -m zipfile -e "$wheel" "$site"; done
    printf '#!/bin/sh\nunset OPENBLAS_CORETYPE\nexec qemu-aarch64-static -cpu %s -L %s -0 %s -E PYTHONHOME=%s %s "$@"\n' \
        "$core" "$root" "$python" "$root/usr" "$root/usr/bin/python$version" >"$python"
    chmod +x "$python"
    rm -rf "$folder/debs" "$folder/wheels"
}

[ -x "$python" ] && command -v qemu-aarch64-static >/dev/null || install

rm -rf "$copy"
mkdir "$copy"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$copy"
cd "$copy"
flags="-Wall -fwrapv -DNDEBUG -I$root/usr/include $(printf -- '-I%s ' "$root"/usr/include/python3.*)"
PYTHONPATH=$site CC=aarch64-linux-gnu-gcc LDSHARED='aarch64-linux-gnu-gcc -shared' CFLAGS=$flags \
    "$python" setup.py -q build_ext --inplace
[ $# -gt 0 ] || set -- -q -m 'not peer' $tests
DUALGRAD_NATIVE=${DUALGRAD_NATIVE:-require} PYTHONPATH=$copy:$site OPENBLAS_NUM_THREADS=1 "$python" -m pytest "$@"
