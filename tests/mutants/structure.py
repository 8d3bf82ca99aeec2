"""Mutants of peeling, coloring, directions, elimination and memory, and of the checks for NaN."""

from tests.mutants.mutant import Mutant

PLANS = "tests/jacobian/test_plans.py::"
COLORS = "tests/jacobian/test_coloring.py::"
MEMORY = "tests/jacobian/test_memory.py::"
PASSES = "tests/compiler/test_program_passes.py::"

MUTANTS = (
    # peeling
    Mutant(
        "parts of a target that are zeros stand for the last element",
        "engine/jacobian/structure/peeling.py",
        "                kept = positions >= 0\n",
        "                kept = positions >= -1\n",
        (PLANS + "test_targets_fall_into_parts",),
    ),
    Mutant(
        "a target falls into any number of parts",
        "engine/jacobian/structure/peeling.py",
        "if moved is None or len(pending) + len(done) + len(moved) > MOST:",
        "if moved is None:",
        (PLANS + "test_a_target_with_many_parts_stays_as_it_is",),
    ),
    Mutant(
        "the operands of any sum are swept apart",
        "engine/jacobian/structure/peeling.py",
        "return [(x, everything) for x in live] if all(map(self._has_zeros, live)) else None",
        "return [(x, everything) for x in live]",
        ("tests/jacobian/test_plans.py",),
    ),
    Mutant(
        "a source that is read elsewhere too is taken for what stands behind it",
        "engine/jacobian/structure/peeling.py",
        "columns = {slot: maps for slot, maps in columns.items() if slot in used}",
        "columns = {slot: maps for slot, maps in columns.items() if slot in used and slot not in path.sources}",
        (PLANS + "test_a_source_that_is_read_elsewhere_stays",),
    ),
    Mutant(
        "elements in another order are taken for all in order",
        "engine/core/sparsity.py",
        "bool((index[1:] > index[:-1]).all())",
        "True",
        (PLANS + "test_an_index_that_only_begins_and_ends_in_place",),
    ),
    Mutant(
        "what is subtracted is added",
        "engine/jacobian/execution/evaluate.py",
        "flat = [-x if negated else x for x, negated in parts]",
        "flat = [x for x, negated in parts]",
        ("tests/jacobian/test_sums.py",),
    ),
    Mutant(
        "a multiple is a sum",
        "engine/jacobian/structure/through_sums.py",
        "return operands if 0 < len(operands) == len({slot for _, slot, _ in operands}) else None",
        "return operands or None",
        ("tests/jacobian/test_sums.py",),
    ),
    # coloring
    Mutant(
        "any cyclic coloring is valid",
        "engine/jacobian/coloring/compression.py",
        "        if _is_valid(pattern, colors, bound):\n",
        "        if bound:\n",
        (COLORS + "test_columns_and_rows_of_any_pattern",),
    ),
    Mutant(
        "no formula is tried",
        "engine/jacobian/coloring/compression.py",
        "colors, method = _formula(pattern, bound) or _search(pattern, bound)",
        "colors, method = _search(pattern, bound)",
        (COLORS + "test_formulas_are_tried_before_searches",),
    ),
    Mutant(
        "columns without entries take part in sweeps",
        "engine/jacobian/coloring/compression.py",
        "    result[used] = numbers[colors[used]]\n",
        "    result[:] = numbers[np.minimum(colors, len(numbers) - 1)]\n",
        (COLORS + "test_columns_without_entries_take_part_in_no_sweep",),
    ),
    Mutant(
        "no star coloring is looked for",
        "engine/jacobian/coloring/compression.py",
        "        best = tried if tried.count < best.count else best\n",
        "        best = best if tried.count else best\n",
        (COLORS + "test_a_symmetric_coloring_saves_sweeps",),
    ),
    Mutant(
        "dense rows are not colored apart",
        "engine/jacobian/coloring/compression.py",
        "        apart = _dense_rows_apart(pattern)\n",
        "        apart = None\n",
        ("tests/jacobian/test_coloring.py",),
    ),
    # directions
    Mutant(
        "a mode that is asked for is not heeded",
        "engine/jacobian/planning/direction.py",
        '        if self.ways.mode == "forward":\n            return [()]\n',
        "",
        ("tests/jacobian/test_values.py", "tests/jacobian/test_plans.py"),
    ),
    Mutant(
        "a sweep reads what its own direction does not reach",
        "engine/jacobian/planning/direction.py",
        "reached = tuple([i for i in targets if i in rest])",
        "reached = tuple(targets)",
        ("tests/jacobian/test_plans.py",),
    ),
    Mutant(
        "colors of rows are those of columns",
        "engine/jacobian/planning/direction.py",
        "key = sweep.direction, sweep.end, other\n",
        'key = "reverse", sweep.end, other\n',
        ("tests/jacobian/test_plans.py",),
    ),
    # elimination
    Mutant(
        "a value that something goes past is a cut",
        "engine/jacobian/planning/elimination.py",
        "if len(open_until) == 1 and target not in open_until:",
        "if open_until and target not in open_until:",
        (PLANS + "test_a_bottleneck_is_a_cut", PLANS + "test_no_bracketing_is_cheaper"),
    ),
    Mutant(
        "complex values are cuts",
        "engine/jacobian/planning/elimination.py",
        "            if not path.values[slot].dtype.is_complex:\n",
        "            if path.values[slot] is not None:\n",
        ("tests/jacobian/test_values.py",),
    ),
    Mutant(
        "matrices are not multiplied",
        "engine/jacobian/planning/elimination.py",
        "options.append((left_time + right_time + product, Product(left, right)))",
        "options.append((float('inf'), Product(left, right)))",
        (PLANS + "test_no_bracketing_is_cheaper",),
    ),
    Mutant(
        "what is pulled back counts with the rows of the sources",
        "engine/jacobian/planning/elimination.py",
        "pull = time_of(low, middle, sizes[high])",
        "pull = time_of(low, middle, sizes[low])",
        (PLANS + "test_no_bracketing_is_cheaper",),
    ),
    # memory
    Mutant(
        "a limit is refused that another plan keeps",
        "engine/jacobian/planning/plan.py",
        "    if not fitting:\n",
        "    if fitting is not None:\n",
        (MEMORY + "test_a_limit_that_only_a_slower_plan_keeps_is_kept",),
    ),
    Mutant(
        "a plan that takes more than allowed is carried out",
        "engine/jacobian/planning/plan.py",
        '    if limit is None or plan.facts["bytes"] <= limit:\n',
        "    if limit is None or plan.facts:\n",
        (MEMORY + "test_less_than_one_seed_takes_is_refused",),
    ),
    Mutant(
        "copies of matrices take no memory",
        "engine/jacobian/planning/memory_limit.py",
        " + _own_bytes(path, nodes)",
        "",
        (MEMORY + "test_copies_of_matrices_are_counted",),
    ),
    # speculative NaN checks
    Mutant(
        "a check finds nothing",
        "engine/compiler/passes/nan_checks.py",
        "    if has_nan(x):\n",
        "    if has_nan(x) and not len(x):\n",
        ("tests/ops/test_zero_times_infinity.py",),
    ),
)
