#!/usr/bin/env bash
# scikit-sundae 1.2.0: CVODE's sparse solver needs a pattern, and says that it ignores it.
#
# With `jacfn` and `linsolver="sparse"` the argument `sparsity` is required: its columns say where the values go that
# `jacfn` writes. A UserWarning says that it "will be ignored in favor of the user-defined 'jacfn'". It is not: given the
# entries in the order of rows, as of a csr_array, the same run needs more evaluations, and nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 scikit-sundae==1.2.0 2>/dev/null

cat >program.py <<'PROGRAM'
import warnings
import numpy as np
from scipy import sparse
from sksundae.cvode import CVODE
matrix = np.array([[-1e3, 0.0, 9e2], [5.0, -1.0, 0.0], [0.0, 3.0, -5e2]])
def right(t, y, yp): yp[:] = matrix @ y
def solved(entries, pattern):
    def jacobian(t, y, yp, jj): jj[:] = entries
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        solver = CVODE(right, linsolver="sparse", sparsity=pattern, jacfn=jacobian, rtol=1e-8, atol=1e-10)
    return solver.solve([0.0, 1.0], np.ones(3)), [str(w.message) for w in said]
by_columns, by_rows = sparse.csc_array(matrix), sparse.csr_array(matrix)
right_order, said = solved(by_columns.data, by_columns)
print(*said)
wrong_order, _ = solved(by_rows.data, by_columns)
print("by rows it takes more evaluations:", wrong_order.nfev > right_order.nfev)
PROGRAM
here/bin/python program.py | tee seen
diff seen - <<'EXPECTED'
Custom sparse Jacobian approximation will be ignored in favor of the user-defined 'jacfn'.
by rows it takes more evaluations: True
EXPECTED
echo "as described"
