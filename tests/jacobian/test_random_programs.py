"""Jacobians of random programs: every mode, format and chunking against gradients row by row, in both front ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.jacobian.both import in_graph, least_memory, matrix, on_tape, row_by_row
from tests.test_random_programs import NAMES, Instruction, points, programs, run

OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(("auto", "forward", "reverse")),
        "format": st.sampled_from(("dense", "csr", "csc", "coo")),
        # by that of one seed at a time
        "max_bytes": st.sampled_from((None, 1.0, 1.5)),
    }
)


@settings(max_examples=300)
@given(programs, OPTIONS)
def test_rows_are_gradients(program: list[Instruction], options: dict[str, Any]) -> None:
    # its result has an unknown shape in a graph
    assume(all(NAMES[op] != "boolean_mask" for op, _, _ in program))
    fn = lambda tf, *xs: run(tf, program, *xs)  # noqa: E731
    xs = points()
    share = options.pop("max_bytes")
    if share is not None:
        options["max_bytes"] = int(share * least_memory(fn, *xs, **options))
    expected = row_by_row(fn, *xs)
    tape, graph = on_tape(fn, *xs, **options), in_graph(fn, *xs, **options)
    for one, other, rows in zip(tape, graph, expected, strict=True):
        assert (one is None) == (other is None)
        np.testing.assert_array_equal(matrix(one, rows), matrix(other, rows))
        np.testing.assert_allclose(matrix(one, rows), rows, rtol=1e-10, atol=1e-12)
