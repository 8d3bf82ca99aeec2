"""Benchmarks refuse a machine that chooses OpenBLAS's kernels; these tests run on such a machine too."""

from collections.abc import Iterator

import pytest

from bench.run import CHOOSES_KERNELS


@pytest.fixture(scope="package", autouse=True)
def no_chosen_kernels() -> Iterator[None]:
    """Take the variables out of the environment, of programs that tests start too."""
    with pytest.MonkeyPatch.context() as patch:
        # pytest-benchmark measures nothing where it finds itself in a worker of pytest-xdist
        for name in (*CHOOSES_KERNELS, "PYTEST_XDIST_WORKER"):
            patch.delenv(name, raising=False)
        yield
