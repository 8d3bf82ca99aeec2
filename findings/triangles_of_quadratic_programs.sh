#!/usr/bin/env bash
# OSQP 1.1.3, Clarabel 0.11.1 and HiGHS 1.16.0: a triangle that is not the expected one gives another solution as solved.
#
# The form is [[4, 1], [1, 2]], the line [1, 1]; the minimum is at (-1/7, -3/7). OSQP and Clarabel read the upper triangle:
# of a lower one they see the diagonal, whose minimum (-1/4, -1/2) they report with the status "solved". HiGHS reads the
# lower one: of a whole matrix that is called triangular it adds both halves, warns, and reports (0, -1/2) as optimal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 scipy==1.17.1 osqp==1.1.3 clarabel==0.11.1 highspy==1.16.0 2>/dev/null

cat >first.py <<'PROGRAM'
import numpy as np, osqp
from scipy import sparse
form, line, none = np.array([[4.0, 1.0], [1.0, 2.0]]), np.ones(2), sparse.csc_matrix((0, 2))
for name, matrix in {"whole": form, "upper": np.triu(form), "lower": np.tril(form)}.items():
    solver = osqp.OSQP()
    solver.setup(sparse.csc_matrix(matrix), line, none, [], [], verbose=False, eps_abs=1e-9, eps_rel=1e-9)
    found = solver.solve(raise_error=False)
    print("OSQP", name, found.info.status, found.x.round(4))
PROGRAM
cat >second.py <<'PROGRAM'
import clarabel, numpy as np
from scipy import sparse
form, line, none = np.array([[4.0, 1.0], [1.0, 2.0]]), np.ones(2), sparse.csc_matrix((0, 2))
settings = clarabel.DefaultSettings()
settings.verbose = False
for name, matrix in {"whole": form, "upper": np.triu(form), "lower": np.tril(form)}.items():
    found = clarabel.DefaultSolver(sparse.csc_matrix(matrix), line, none, np.zeros(0), [], settings).solve()
    print("Clarabel", name, found.status, np.round(found.x, 4))
PROGRAM
cat >third.py <<'PROGRAM'
import highspy, numpy as np
from scipy import sparse
form = np.array([[4.0, 1.0], [1.0, 2.0]])
for name, dense in {"lower": np.tril(form), "whole as triangular": form}.items():
    matrix, model = sparse.csc_matrix(dense), highspy.HighsModel()
    model.lp_.num_col_, model.lp_.col_cost_ = 2, np.ones(2)
    model.lp_.col_lower_, model.lp_.col_upper_ = np.full(2, -highspy.kHighsInf), np.full(2, highspy.kHighsInf)
    model.lp_.a_matrix_.start_ = np.zeros(3, np.int32)
    model.hessian_.dim_, model.hessian_.format_ = 2, highspy.HessianFormat.kTriangular
    model.hessian_.start_, model.hessian_.index_, model.hessian_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    taken = solver.passModel(model).name
    solver.run()
    print("HiGHS", name, taken, solver.getModelStatus().name, np.round(solver.getSolution().col_value, 4) + 0.0)
PROGRAM
for program in first second third; do
    here/bin/python $program.py
done | grep -E '^(OSQP|Clarabel|HiGHS) ' | tee seen
diff seen - <<'EXPECTED'
OSQP whole solved [-0.1429 -0.4286]
OSQP upper solved [-0.1429 -0.4286]
OSQP lower solved [-0.25 -0.5 ]
Clarabel whole Solved [-0.1429 -0.4286]
Clarabel upper Solved [-0.1429 -0.4286]
Clarabel lower Solved [-0.25 -0.5 ]
HiGHS lower kOk kOptimal [-0.1429 -0.4286]
HiGHS whole as triangular kWarning kOptimal [ 0.  -0.5]
EXPECTED
echo "as described"
