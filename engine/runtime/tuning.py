"""The constants that trade one cost against another: unit, meaning, and where the figure comes from.

Three kinds. *Costs* are seconds; the planner compares Jacobians by them, and only their ratios matter. *Thresholds* say
from where on something pays. *Limits* bound memory. All are the same everywhere: plans and the order in which numbers
are added depend on them, and so last bits do. docs/tuning.md says what that means.
"""

from __future__ import annotations

from typing import Any

from engine.runtime.structs import struct

_said: list[dict[str, str]] = []


def _about(default: Any, unit: str, what: str, source: str) -> Any:
    """A constant, and in `ABOUT` its unit, what it says and its source."""
    _said.append({"unit": unit, "what": what, "source": source})
    return default


_TIMED = "timed in programs of Python, 2-core AMD EPYC, NumPy 2.5, one thread"
_CHOSEN = "chosen by trial on the suite of 0.1, not measured since"
_LOOPS = "chosen by trial on ODEs and TensorArrays in loops; no measurement is recorded"
_TRIED = "chosen by trial on the suite of 0.2"
_CACHE = "a few tiles shall stay in a core's own cache (256 kB to 2 MB)"
_JUDGED = "by judgment; no measurement is recorded"
_BLOCK = "by judgment: 2 MB in float32, which a third-level cache holds; no measurement is recorded"
_CONVOLUTIONS = "with convolutions of a ResNet's sizes, one thread, AVX-512; none is recorded by itself"
_MEMORY = "a limit that was set"


@struct(frozen=True)
class Tuning:
    """The record. All of one are as they are here, so none is held by itself."""

    def __init__(self) -> None: ...

    call: float = _about(2.65e-7, "s", "a kernel call in a sweep", _TIMED)
    element: float = _about(1.55e-10, "s", "an element of an elementwise result: memory traffic", _TIMED)
    flop: float = _about(1e-11, "s", "an operation of a product of matrices", _TIMED)
    pick: float = _about(1.4e-9, "s", "a number gathered from a sweep's result and put in its place", _TIMED)

    update_tile: int = _about(1 << 17, "bytes", "of an array in one tile of an update, which reads several", _CACHE)
    update_elements: int = _about(1 << 16, "elements", "of a variable that is worth a loop of its own", _CHOSEN)
    update_variables: int = _about(16, "variables", "smaller ones that are worth one loop together", _CHOSEN)
    narrowing_elements: int = _about(
        1 << 11,
        "elements",
        "that need not be computed, from which on parts are",
        "chosen by trial on GradBench and the suite of 0.3",
    )
    column_elements: int = _about(
        1 << 9, "rows", "of a few numbers, from which on they are vectors", "chosen by trial on GradBench"
    )
    unrolled_nodes: int = _about(1 << 11, "nodes", "of all steps of a loop that are written out", _LOOPS)
    unrolled_elements: int = _about(
        1 << 9, "elements", "from which on steps are written out where a small part is taken", _LOOPS
    )
    unrolled_whole: int = _about(1 << 14, "elements", "from which on steps are written out elsewhere", _LOOPS)
    written_bytes: int = _about(
        1 << 15, "bytes", "of an array that a loop carries, from which on steps write entries of it", _LOOPS
    )
    slice_concat_elements: int = _about(1 << 11, "elements", "from which on slices are copied, not indexed", _CHOSEN)
    slice_concat_slices: int = _about(32, "slices", "that may be copied in its place", _CHOSEN)
    slice_concat_length: int = _about(64, "elements", "in a slice on average, from which on it pays", _CHOSEN)
    slice_sum_bytes: int = _about(
        1 << 12, "bytes", "of an array, times its slices, from which on these are added where they belong", _TRIED
    )
    inplace_concat_bytes: int = _about(1 << 16, "bytes", "below which arrays are joined at the end", _CHOSEN)
    buffer_bytes: int = _about(1 << 16, "bytes", "of a result, from which on it gets a place in a block", _CHOSEN)
    block_bytes: int = _about(1 << 27, "bytes", "of the block of one program", _MEMORY)
    pool_bytes: int = _about(1 << 28, "bytes", "that the pool keeps while nobody uses them", _MEMORY)
    pool_least: int = _about(
        1 << 17, "bytes", "of an array, from which on the system maps new pages for it", "128 kB in glibc"
    )
    fold_bytes: int = _about(1 << 20, "bytes", "of a constant that lowering computes", _MEMORY)
    fold_plan_bytes: int = _about(1 << 16, "bytes", "of a constant that a plan keeps", _MEMORY)
    sweep_bytes: int = _about(1 << 28, "bytes", "of one sweep, unless a caller says", _MEMORY)
    sparse_sweep_bytes: int = _about(1 << 23, "bytes", "of one sweep without contractions for a sparse result", _TRIED)
    release_elements: int = _about(
        1 << 14,
        "elements",
        "in rows, from which on other threads may run meanwhile",
        "some 10 µs of work, beside 1 µs for the lock",
    )
    row_elements: int = _about(1 << 7, "elements", "of a copy's inner loop, below which it goes through two", _TRIED)
    repeat_elements: int = _about(
        1 << 11, "elements", "of an inner loop that is made of few, its operands repeated", _TRIED
    )
    repeat_times: int = _about(4, "times", "from which on operands are repeated", _TRIED)
    sum_columns: int = _about(
        1 << 7, "elements", "of a row, below which a loop of our own adds rows to one another", _TRIED
    )
    shared_numbers: int = _about(
        1 << 18, "numbers", "in a row or in tiles, from which on threads share them", "some tenths of a ms"
    )
    native_tile: int = _about(
        1 << 14, "bytes", "of an array in one tile of an update in C", "some arrays' shall stay in 32 kB"
    )
    group_bytes: int = _about(1 << 12, "bytes", "of an array, from which on rows in C run tile by tile", _TRIED)
    group_fused_bytes: int = _about(
        1 << 11, "bytes", "of an array, from which on such rows do so if all of them become one", _TRIED
    )
    group_large: int = _about(
        1 << 16, "bytes", "of an array, whose lines go so one by one; of a line that is not reduced", _TRIED
    )
    gather_numbers: int = _about(2000, "numbers", "added up one by one, not by a sparse matrix", _CHOSEN)
    dot_elements: int = _about(1 << 13, "elements", "of a result, up to which `dot` is quicker than `matmul`", _CHOSEN)
    mirrored_columns: int = _about(
        1 << 7, "columns", "up to which a matrix is multiplied by a copy of its transpose", _TRIED
    )
    sum_elements: int = _about(1 << 7, "elements", "of rows, from which on they are added up in blocks", _CHOSEN)
    window_numbers: int = _about(1 << 19, "numbers", "that a kernel lays side by side at a time", _BLOCK)
    window_passes: int = _about(
        8, "times", "smaller are parts of work that goes over each number several times", _JUDGED
    )
    window_line: int = _about(128, "numbers", "beside each other, from which on they have a loop of their own", _JUDGED)
    pool_numbers: int = _about(1 << 19, "numbers", "of images that are pooled at a time", _BLOCK)
    conv_channels: int = _about(
        4, "channels", "from which on channels, not pixels, lie beside each other when taps are added up", _CONVOLUTIONS
    )
    conv_outputs: int = _about(
        4, "times", "as many outputs as channels, from which on a transpose is a convolution", _CONVOLUTIONS
    )
    window_run: int = _about(
        24, "numbers", "in a window's row, below which windows are copied tap by tap", _CONVOLUTIONS
    )
    window_run_strided: int = _about(
        16, "numbers", "the same, for windows that move in larger steps than one", _CONVOLUTIONS
    )
    window_proof: int = _about(
        1 << 15, "numbers", "times outputs, from which on it pays to compare the bits of a loop in C", _CONVOLUTIONS
    )
    window_starts: int = _about(
        14 * 64, "windows", "whose first elements are computed at a time", "64 rounds of the loop in C, which takes 14"
    )
    one_thread: int = _about(
        1 << 26,
        "flop / 2",
        "of a product, up to which one thread of OpenBLAS computes it",
        "1.5 to 3 ms: less than a thread may wait for a core where others compute, too",
    )
    one_thread_conv: int = _about(
        1 << 31,
        "flop / 2",
        "of a convolution, which is many products, up to which one thread computes them",
        "a VAE's step beside two busy processes: 0.02 s with one thread, 0.6 s with two",
    )
    product_small: int = _about(
        10**6,
        "flop / 2",
        "of a product, up to which OpenBLAS takes matrices as they lie",
        "one thread, AVX-512: 210 to 230 GFLOP/s up to there, 150 to 190 beyond",
    )
    product_rows: int = _about(128, "rows", "of a part of a product that BLAS copies first", _CONVOLUTIONS)
    product_rows_in_place: int = _about(8, "rows", "of a part of a product that BLAS takes as it lies", _CONVOLUTIONS)
    product_whole: int = _about(1 << 16, "numbers", "in the rows, up to which a product is not divided", _CONVOLUTIONS)
    product_sum_least: int = _about(
        128, "rows", "that a product of columns sums over at a time, at least", _CONVOLUTIONS
    )
    product_sum_most: int = _about(256, "rows", "the same, at most", _CONVOLUTIONS)
    product_columns: int = _about(16, "columns", "of a part of a product of columns", _CONVOLUTIONS)
    product_outputs: int = _about(64, "outputs", "above which a product of columns is made in one piece", _CONVOLUTIONS)
    product_unfilled: int = _about(
        2, "columns", "up to which a product of columns does not fill registers", _CONVOLUTIONS
    )
    narrow_columns: int = _about(
        3, "columns", "up to which many products with one matrix are one product, transposed", _JUDGED
    )
    sum_rows: int = _about(1 << 10, "rows", "that are added up one after the other", _JUDGED)
    nan_elements: int = _about(1 << 13, "elements", "up to which a product with itself finds a NaN quickest", _JUDGED)
    joint_operands: int = _about(16, "operands", "of an op, from which on one rule for all of them pays", _JUDGED)
    twin_bytes: int = _about(1 << 12, "bytes", "of an array, from which on workers get equal arrays once", _JUDGED)
    view_span: int = _about(8, "times", "as much memory as a view shows, up to which a worker gets all of it", _JUDGED)
    index_elements: int = _about(
        1 << 16, "elements", "of a block of a Jacobian, up to which each has an index", _JUDGED
    )
    thin_block: int = _about(16, "rows or columns", "up to which a full block stands among sparse ones", _JUDGED)
    crowded_seeds: int = _about(
        8, "seeds", "of a Jacobian, from which on fewer are looked for behind sums at its ends", _JUDGED
    )
    star_entries: int = _about(
        5_000, "entries", "of a pattern, up to which a star coloring is always tried", "about 2 µs for each entry"
    )
    exact_entries: int = _about(10_000, "entries", "of a pattern, up to which it is kept however full it is", _JUDGED)
    fullest: int = _about(
        3,
        "entries",
        "of which one may be set in a larger pattern; fuller ones are taken to be dense",
        "coloring saves at most two thirds of the sweeps then",
    )
    table_elements: int = _about(
        1 << 17, "elements", "of a matrix of a pattern, up to which it is written out", _JUDGED
    )
    coefficient_entries: int = _about(
        1 << 22, "entries", "of coefficients, up to which a Jacobian is swept from sums of its sources", _MEMORY
    )
    coloring_entries: int = _about(
        200_000, "entries", "of a pattern, below which more orders of columns are tried", _JUDGED
    )
    star_coloring_entries: int = _about(
        1_000_000,
        "entries",
        "of a symmetric pattern, up to which a star coloring is tried at all",
        "about 2 µs for each entry",
    )
    coloring_masks: int = _about(512, "bits", "that loops in search of a coloring hold for each entry", _MEMORY)
    coloring_visits: int = _about(4, "visits", "to each entry in search of fewer colors", _JUDGED)
    update_steps: int = _about(2, "steps", "of an optimizer op by op, before small variables have a program", _JUDGED)
    fold_update_bytes: int = _about(
        1 << 12, "bytes", "of a constant that the program of an update computes beforehand", _MEMORY
    )
    saved_bytes: int = _about(1 << 28, "bytes", "that the steps of a loop may save for its gradient", _MEMORY)
    saved_elementwise_bytes: int = _about(
        1 << 24,
        "bytes",
        "up to which they save values of exponentials and the like, which memory is slower than",
        _TRIED,
    )


TUNING = Tuning()
"""The constants."""
ABOUT = tuple(zip(Tuning.__match_args__, _said, strict=True))
"""Each constant with its unit, what it says, and its source."""
