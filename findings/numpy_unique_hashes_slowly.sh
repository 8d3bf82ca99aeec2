#!/usr/bin/env bash
# NumPy 2.4.6 (and 2.5.5): `unique` of a million different integers takes some 25 times as long as sorting them.
#
# Up to 2.2 it sorted. Now a plain `np.unique(x)` of integers goes through a hash table, and sorts what comes out; with
# `return_index`, `return_inverse` or `return_counts` it still sorts alone. For few different values the table is the
# faster way, for many it is far slower: seconds instead of a tenth. `intersect1d`, `setdiff1d` and `union1d` call it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.py <<'PROGRAM'
import time
import numpy as np

def seconds(function, *args, **options):
    times = []
    for _ in range(2):
        start = time.perf_counter()
        function(*args, **options)
        times.append(time.perf_counter() - start)
    return min(times)

x = np.random.default_rng(0).permutation(1_000_000)
alone = seconds(np.sort, x)
print(np.__version__, "plain:", seconds(np.unique, x) > 5 * alone, "with counts:", seconds(np.unique, x, return_counts=True) > 5 * alone)
PROGRAM
for version in 2.2.6 2.4.6; do
    python3 -m venv "numpy-$version"
    "numpy-$version/bin/python" -m pip install --quiet --disable-pip-version-check "numpy==$version" 2>/dev/null
    "numpy-$version/bin/python" program.py
done | tee seen
diff seen - <<'EXPECTED'
2.2.6 plain: False with counts: False
2.4.6 plain: True with counts: False
EXPECTED
echo "as described"
