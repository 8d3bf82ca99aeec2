#!/usr/bin/env bash
# dolfinx-solver-real 0.11.0.post0 (petsc4py 3.25.5) with mpich 5.0.2, mpi4py 4.1.2: petsc4py finds no MPI by itself.
#
# The wheel of PETSc asks for libmpi.so.12, which lies in the folder `lib` of the environment, on no loader's path. The
# import of `petsc4py.PETSc` fails, also below `python -m mpi4py`. After `from mpi4py import MPI`, which knows where the
# library is, the same import works, with nothing set. The wheel needs Python 3.12.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset LD_LIBRARY_PATH
"${PYTHON:-python3.12}" -m venv here
here/bin/python -m pip install --quiet --disable-pip-version-check \
    numpy==2.4.6 mpi4py==4.1.2 mpich==5.0.2 dolfinx-solver-real==0.11.0.post0 2>/dev/null
cat >alone.py <<'PROGRAM'
try:
    from petsc4py import PETSc
except ImportError as error:
    print(error)
PROGRAM
cat >after.py <<'PROGRAM'
from mpi4py import MPI
from petsc4py import PETSc
print("PETSc", *PETSc.Sys.getVersion())
PROGRAM
{
    here/bin/python alone.py
    here/bin/mpiexec -n 1 here/bin/python -m mpi4py alone.py
    here/bin/python after.py
} | tee seen
diff seen - <<'EXPECTED'
libmpi.so.12: cannot open shared object file: No such file or directory
libmpi.so.12: cannot open shared object file: No such file or directory
PETSc 3 25 5
EXPECTED
echo "as described"
