"""Mutants of what is kept and shared: sessions, memory, replays, the reverse walk and closed functions."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

IN_C = "tests/test_eager_in_c.py::test_keys_are_equal_where_those_of_python_are"

MUTANTS = (
    Mutant(
        "a result may lie in a program's constants",
        "engine/runtime/ownership.py",
        "if is_shown or owner in self._owners or owner in self._constants:",
        "if is_shown or owner in self._owners:",
        ("tests/graph_api/test_session.py::test_results_belong_to_the_caller",),
    ),
    Mutant(
        "two results are one array",
        "engine/runtime/ownership.py",
        "        self._owners.add(owner)\n",
        "",
        ("tests/graph_api/test_state.py::test_fetched_arrays_are_independent_of_each_other",),
    ),
    Mutant(
        "a repeated number is handed out as a view",
        "engine/runtime/ownership.py",
        "is_shown = value.nbytes != whole.nbytes or not value.flags.writeable",
        "is_shown = value.nbytes < whole.nbytes",
        ("tests/graph_api/test_session.py::test_one_number_shown_several_times_can_be_written_to",),
    ),
    Mutant(
        "memory that nobody uses is kept without limit",
        "engine/runtime/buffer_pool.py",
        "while sum([s.memory.size for s in _spare.copy()]) > KEPT:",
        "while not _spare:",
        ("tests/test_program_buffers.py::test_memory_is_shared_and_limited",),
    ),
    Mutant(
        "tables grow without limit",
        "engine/runtime/cache.py",
        "len(entries) > self.capacity or",
        "",
        ("tests/test_replay_memory.py::test_tables_are_bounded_and_a_full_one_does_not_harm",),
    ),
    Mutant(
        "what is in use gives way",
        "engine/runtime/cache.py",
        "        entry.used = self.hits + self.made\n",
        "",
        ("tests/test_cache.py::test_a_program_in_use_outlives_many_that_are_used_once",),
    ),
    Mutant(
        "the shapes of variables are not looked at again",
        "engine/closed/function.py",
        "if self._state_shapes is not None and [value.shape for value in state] != self._state_shapes:",
        "if self._program is None:",
        ("tests/test_threads.py::test_shapes_are_those_of_the_values_that_a_run_gets",),
    ),
    Mutant(
        "a session's key misses the shapes of feeds",
        "graph_api/session.py",
        "forms += (id(tensor), array.shape)",
        "forms += (id(tensor),)",
        ("tests/graph_api/test_families.py::test_ever_new_batch_sizes_share_one_program",),
    ),
    Mutant(
        "a run that assigns holds no locks",
        "engine/closed/function.py",
        "if self.locks and not held:",
        "if self._program is None:",
        ("tests/test_closed_function.py::test_a_run_that_writes_holds_locks_all_the_while",),
    ),
    Mutant(
        "a feed that a constant was taken for passes",
        "graph_api/session.py",
        "        self.graph.check_fed(feeds, nodes)\n",
        "",
        ("tests/jacobian/test_changing_contents.py::test_constants_that_are_fed",),
    ),
    Mutant(
        "a session hands out what it was lent",
        "engine/closed/function.py",
        "owned = Shared(arguments, self._owners).owned",
        "owned = np.asarray",
        ("tests/graph_api/test_session.py::test_results_belong_to_the_caller",),
    ),
    Mutant(
        "a variable shares memory with what was fed",
        "engine/closed/function.py",
        "self._own = self._count + sum(1 + a.in_part for a in assigned)",
        "self._own = self._count",
        ("tests/graph_api/test_state.py::test_a_python_functions_own_array_may_change_later",),
    ),
    Mutant(
        "an assigned value of another shape passes",
        "graph_api/session_state.py",
        "new[key] = _fitting(assignment.handle, boxed(next(left)))",
        "new[key] = boxed(next(left))",
        ("tests/graph_api/test_state.py::test_values_of_a_wrong_shape_are_refused",),
    ),
    Mutant(
        "rows out of range are written",
        "graph_api/session_state.py",
        "self.value(key), *part)\n",
        "self.value(key), *part) if not part else None\n",
        ("tests/test_row_assignment.py::test_bad_rows_leave_the_variable_as_it_was",),
    ),
    Mutant(
        "a replay's key misses dtypes",
        "engine/closed/replay.py",
        "parts += (array.shape, array.dtype, array.flags.c_contiguous)",
        "parts += (array.shape, array.flags.c_contiguous)",
        # with the extension the key is made in C, and compared with that of Python
        ("tests/test_replay.py::test_structures_that_alternate", IN_C),
    ),
    Mutant(
        "a replay's key misses parameters",
        "engine/closed/replay.py",
        "parts += (name, distinct(param))",
        "parts.append(name)",
        ("tests/test_replay.py::test_parameters_are_part_of_the_structure", IN_C),
    ),
    Mutant(
        "a source in between loses its cotangent",
        "engine/reverse.py",
        "cotangents.get(id(o)) if id(o) in kept else cotangents.pop(id(o), None)",
        "cotangents.pop(id(o), None)",
        ("tests/tape_api/test_gradient_tape.py::test_an_intermediate_result_is_a_source",),
    ),
    Mutant(
        "a gradient flows through what counts as constant",
        "engine/reverse.py",
        "reached = [id(o) for o in node.outputs if id(o) not in stop]",
        "reached = [id(o) for o in node.outputs]",
        ("tests/graph_api/test_gradients.py::test_stop_gradients_gives_partial_derivatives",),
    ),
    Mutant(
        "a rule's answer is not checked",
        "engine/reverse.py",
        "                _check(choices.value_of(result), operands[i], node, i)\n",
        "",
        ("tests/test_core.py::test_a_wrong_rule_is_named",),
    ),
    Mutant(
        "a closed function hands out its constants",
        "engine/closed/function.py",
        "        if not found._constants:\n            return results",
        "        if found._constants is not None:\n            return results",
        ("tests/graph_api/test_control.py::test_results_belong_to_the_caller",),
    ),
    Mutant(
        "a pullback is kept whatever is known already",
        "engine/closed/function.py",
        'key = ("pullback", tuple(wanted), tuple(given), tuple(seeded))',
        'key = ("pullback", tuple(wanted), tuple(given))',
        ("tests/graph_api/test_control.py::test_third_derivatives",),
    ),
    # what functions of control flow make
    Mutant(
        "an operation may use what another function made",
        "graph_api/contexts.py",
        "context is not here and context not in _outwards(here)",
        "False",
        ("tests/graph_api/test_contexts.py",),
    ),
    Mutant(
        "what is lifted out of a function is computed inside as well",
        "graph_api/contexts.py",
        "return [node for node in nodes if node.context not in around]",
        "return list(nodes)",
        ("tests/graph_api/test_contexts.py::test_a_penalty_is_computed_once_wherever_its_variable_was_made",),
    ),
    Mutant(
        "what a variable was read to in a branch is its value outside",
        "graph_api/variable.py",
        " or made_in not in (None, graph.context)",
        "",
        ("tests/graph_api/test_contexts.py",),
    ),
    Mutant(
        "a gradient leads through what a loop carries, whatever it starts with",
        "graph_api/contexts.py",
        "if id(p) in live - own and not",
        "if id(p) in own and not",
        ("tests/graph_api/test_gradients_in_loops.py",),
    ),
)
