"""Other machines, as far as this one can pretend to be one: ``python -m tests.machines NAME [arguments of pytest]``.

NumPy's loops, OpenBLAS's kernels and the C library's functions are chosen by what the processor can do, and may round
otherwise. Each of them can be told not to use it. ``python -m tests.machines bits [PROGRAMS]`` computes the op table
and random programs on all these machines, and says where what must be the same is not.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy._core import _multiarray_umath as numpy_core


class Machine(NamedTuple):
    """A processor: OpenBLAS's kernels for it, what NumPy must not use, whether the C library has plain functions."""

    kernels: str
    without: tuple[str, ...]
    plain: bool = False


_AVX512, _ALL = ("AVX512", "X86_V4"), ("",)
MACHINES = {
    "avx2": Machine("Haswell", _AVX512),
    "avx": Machine("Sandybridge", _ALL),
    "plain": Machine("Prescott", _ALL, plain=True),
}
"""Older processors than this one. NumPy's names differ between its versions, and it says nothing about unknown ones."""


def environment(machine: Machine) -> dict[str, str]:
    """What tells a process to be on that machine."""
    off = [name for name in numpy_core.__cpu_dispatch__ if any(part in name for part in machine.without)]
    made = {"NPY_DISABLE_CPU_FEATURES": " ".join(off), "OPENBLAS_CORETYPE": machine.kernels}
    if machine.plain:
        made["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX_Usable,-AVX2_Usable,-FMA_Usable"
    return os.environ | made


def still_on(machine: Machine) -> list[str]:
    """What this process uses that the machine has not."""
    import scipy.linalg  # noqa: F401  (its BLAS is looked at, too)
    from threadpoolctl import threadpool_info

    off = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
    found = [info.get("architecture") for info in threadpool_info() if info["internal_api"] == "openblas"]
    loops = [name for name in off if numpy_core.__cpu_features__[name]]
    # OpenBLAS calls its oldest kernels, those of Prescott, by an older processor's name
    return loops + [f"OpenBLAS for {kernels}" for kernels in found if kernels not in (machine.kernels, "Katmai")]


# ---- bits ------------------------------------------------------------------------------------------------------------


def bits(programs: int) -> dict[str, str]:
    """Hashes of what gives the same bits everywhere: rows of the op table, and random programs made of such ops."""
    return {name: _hash(arrays) for name, arrays in [*_of_table(), *_of_programs(programs)]}


def _of_table() -> Iterator[tuple[str, list[Any]]]:
    from dualgrad.migrate.compare.budgets import is_portable
    from tests.fuzz.programs import flat
    from tests.op_table import CASES, pure

    for row, dtype in pure(CASES):
        found = [x for seed in range(5) for x in flat(row.apply(*row.arrays(dtype, seed)))]
        if all(is_portable(row.op, dict(row.params), np.asarray(x).dtype) for x in found) and dtype != "complex128":
            yield f"{row.id}-{dtype}", found


def _of_programs(count: int) -> Iterator[tuple[str, list[Any]]]:
    from dualgrad.migrate.compare.budgets import is_portable
    from tests.fuzz.around import quiet
    from tests.fuzz.execute import Failed, attempt

    for seed in range(count):
        graphs: list[Any] = []
        with quiet():
            found = attempt(partial(_run, seed, graphs))
        portable = all(is_portable(n.op, n.params, x.dtype.numpy) for g in graphs for n in g.nodes for x in n.outputs)
        if portable and not isinstance(found, Failed):
            yield f"program {seed}", [found[key] for key in sorted(found)]


def _run(seed: int, graphs: list[Any]) -> dict[str, Any]:
    """The results of a random program in a graph, which is added to the list."""
    import graph_api
    from tests.fuzz.execute import reference_of, run_in_graph, values_of
    from tests.fuzz.generate import generate

    made = graph_api.Graph

    def graph() -> Any:
        graphs.append(made())
        return graphs[-1]

    program = generate(seed)
    values, _ = values_of(program)
    reference = reference_of(program, values)
    with mock.patch.object(graph_api, "Graph", graph):
        return run_in_graph(program, values, program.keys, reference)


def _hash(found: Any) -> str:
    made = hashlib.sha256()
    for x in found:
        if isinstance(x, (list, tuple)):
            made.update(_hash(x).encode())
            continue
        array = np.asarray(x)
        if array.dtype.kind in "fc":  # the sign of a NaN is not promised
            array = np.where(np.isnan(array), np.nan, array)
        made.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return made.hexdigest()


def differing(name: str, programs: int) -> tuple[int, list[str]]:
    """How much must be the same here and on another machine, and what is not."""
    command = [sys.executable, "-m", "tests.machines"]
    told = [
        subprocess.run([*command, *words, "hashes", str(programs)], check=True, capture_output=True, text=True).stdout
        for words in ([], [name])
    ]
    here, there = [json.loads(text.splitlines()[-1]) for text in told]
    return len(here), sorted(key for key in {*here, *there} if here.get(key) != there.get(key))


def main(words: list[str]) -> int:
    """Run on a machine, or compare all of them."""
    if words[:1] == ["bits"]:
        programs, failed = int(words[1]) if words[1:] else 1000, False
        for name in MACHINES:
            count, found = differing(name, programs)
            failed |= bool(found)
            print(f"{name}: {len(found)} of {count} differ{': ' * bool(found)}{', '.join(found)}", flush=True)
        return int(failed)
    if words[:1] == ["hashes"]:
        print(json.dumps(bits(int(words[1]))))
        return 0
    machine = MACHINES[words[0]]
    if os.environ.get("OPENBLAS_CORETYPE") != machine.kernels:
        os.execve(sys.executable, [sys.executable, "-m", "tests.machines", *words], environment(machine))
    if on := still_on(machine):
        raise SystemExit(f"this is not that machine: {', '.join(on)}")
    if words[1:2] == ["hashes"]:
        return main(words[1:])
    print(f"NumPy does without {os.environ['NPY_DISABLE_CPU_FEATURES'] or 'nothing'}", flush=True)
    return subprocess.call([sys.executable, "-m", "pytest", *words[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
