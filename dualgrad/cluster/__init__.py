"""Derivatives beyond one machine: sums over shards of data, on whatever runs tasks.

`over` makes one function for SciPy's solvers of a function and the shards of its data; `predicted` says what more
workers would give. The rows of a `ShardedTable` lie on workers. Any `concurrent.futures.Executor` runs the tasks:
processes, joblib's loky, Dask, mpi4py.
"""

from dualgrad.cluster.model import Prediction, predicted
from dualgrad.cluster.shards import Sharded, over
from dualgrad.cluster.tables import ShardedTable

__all__ = ["Prediction", "Sharded", "ShardedTable", "over", "predicted"]
