"""Mutants of what holds both modes to the same numbers, each of which once was a real mistake or nearly one."""

from tests.mutants.mutant import Mutant

AGREE = "tests/fuzz/test_fuzz.py::test_programs_that_once_disagreed_agree"

MUTANTS = (
    Mutant(
        "the seed of a read waits for the read",
        "engine/derivatives/reverse.py",
        "accumulate(cotangents, reads.get(id(value), id(value)), seed",
        "accumulate(cotangents, id(value), seed",
        (f"{AGREE}[a variable that is a target itself and is used, by a graph read once]",),
    ),
    Mutant(
        "each read of a variable is a value of its own",
        "engine/jacobian/structure/path.py",
        "    if not same:\n",
        "    if True:\n",
        (f"{AGREE}[a variable that is read twice, once by a custom gradient]",),
    ),
    Mutant(
        "nodes of a body stand as they were made",
        "engine/closed/capture.py",
        "self.nodes = in_order([made for n in nodes for made in closed.get(id(n), ())])",
        "self.nodes = [made for n in nodes for made in closed.get(id(n), ())]",
        (f"{AGREE}[a rule that reads a variable which is read behind the call]",),
    ),
    Mutant(
        "a function with nothing to do gives back the variable",
        "graph_api/convert.py",
        "        return result.read_value()\n    return result if",
        "        return result\n    return result if",
        (f"{AGREE}[a cast with nothing to do, before an update]",),
    ),
    Mutant(
        "a plan may not read its sources beside the path",
        "engine/jacobian/callable_plan.py",
        "(n.op is read_variable and id(n.inputs[0]) not in of)",
        "n.op is read_variable",
        (f"{AGREE}[a plan beside whose path a source is read]",),
    ),
    Mutant(
        "all numbers take the dtype of the integers beside them",
        "engine/core/eager.py",
        'numbers = (int,) if dtype.kind in "iu" else (int, float, complex)',
        "numbers = (int, float, complex)",
        (f"{AGREE}[a NumPy number beside a count of steps]",),
    ),
    Mutant(
        "a choice that a NaN needs is left out without a check",
        "engine/compiler/passes/nan_checks.py",
        "checks.add(-cheapest[i][1])",
        "checks.discard(-cheapest[i][1])",
        ("tests/executor/test_native_groups.py",),
    ),
    Mutant(
        "arrays are joined in place along any axis",
        "engine/compiler/passes/inplace_concat.py",
        'if not aval.is_static or join.params["axis"] not in (0, -len(aval.shape or ())):',
        "if not aval.is_static:",
        ("tests/compiler/test_program_inplace_concat.py",),
    ),
    Mutant(
        "a product with a diagonal matrix keeps its minus zeros",
        "engine/compiler/ir/kernels.py",
        "    return np.add(out, 0, out)\n",
        "    return out\n",
        ("tests/compiler/test_program_passes.py", "tests/compiler/test_program_algebraic.py"),
    ),
    Mutant(
        "locks are taken as they come",
        "engine/runtime/commit.py",
        "return tuple(sorted(set(locks), key=id))",
        "return tuple(dict.fromkeys(locks))",
        ("tests/robustness/test_threads.py::test_everybody_takes_locks_in_one_order",),
    ),
    Mutant(
        "a replay's key misses what seeds are",
        "engine/closed/replay.py",
        "key = (structure.key, len(seeds), len(sources), *ends, *leaves, *options, recorded, lazy)",
        "key = (structure.key, len(seeds), len(sources), *ends, *options, recorded, lazy)",
        ("tests/compiler/test_replay.py::test_seeds_that_lie_in_another_order_have_a_replay_of_their_own",),
    ),
    Mutant(
        "rows of a loop lie as they come",
        "engine/control/loop_kernels.py",
        "[np.ascontiguousarray(c) for c in operands[carries : carries + sequences]]",
        "list(operands[carries : carries + sequences])",
        (f"{AGREE}[sums of rows that do not lie in C order]",),
    ),
    Mutant(
        "results of a loop lie as its rows do",
        "engine/control/loop_kernels.py",
        "return np.concatenate(pieces, out=whole)",
        "return np.concatenate(pieces)",
        (f"{AGREE}[a loop over columns in a loop]",),
    ),
)
