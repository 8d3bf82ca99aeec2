"""A program that was migrated to another library, compared with the record within rounding.

The map says for which library it is. Real TensorFlow and JAX round otherwise than NumPy does, so what a function gives
may be some units in the last place of its largest element away. Where it is farther away, the function is called again
with operands that differ in their last bits: what that changes in its results is what rounding may change.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dualgrad.files.golden import Golden
from dualgrad.migrate.compare.converted import Converted, Function, Map
from dualgrad.migrate.compare.findings import Comparison, Difference
from dualgrad.migrate.compare.printed import differing_lines
from dualgrad.migrate.compare.rerun import LOOSE
from dualgrad.migrate.recorder import finished
from dualgrad.migrate.run import execute

LIBRARIES = {"tensorflow": "tensorflow", "keras": "tensorflow", "jax": "jax"}
"""The libraries that must be installed for each target."""
TRIES = 3
"""How often a function is called with other last bits."""
AS_FAR = 16.0
"""So many times what other last bits change is rounding still."""


def is_elsewhere(known: Map) -> bool:
    """Whether a migrated program is for a library that is installed here.

    Raises
    ------
    ValueError
        If it is not, and ours cannot stand in for it.
    """
    if known.target not in LIBRARIES:
        return False
    there = find_spec(LIBRARIES[known.target]) is not None
    if not there and known.target != "tensorflow":
        library = LIBRARIES[known.target]
        raise ValueError(f"the program is for {library}, which is not installed here: pip install {library}")
    return there


def compare_elsewhere(golden: Golden, path: Path, known: Map, comparison: Comparison) -> None:
    """Execute a migrated program with its own library, compare what it prints, and then its functions."""
    library = import_module(LIBRARIES[known.target])
    said = f"the program runs under {library.__name__} {library.__version__}, which rounds otherwise"
    comparison.reasons.insert(0, said)
    comparison.portable = False
    comparison.from_run += known.from_run
    comparison.aside = "It was not followed while it runs by itself: its functions were compared, one by one."
    out = io.StringIO()
    if known.whole is not False:
        arguments = golden.head["program"]["arguments"]
        with contextlib.redirect_stdout(out):
            code = finished(lambda: execute(path, list(arguments)))
        if code != golden.head["program"]["exit"]:
            comparison.differences.append(Difference(0, "error", path.name, note=f"it ended with {code} by itself"))
        # numbers that are printed follow from the whole run: each of its steps is compared by itself
        comparison.printed = differing_lines(golden.lines("printed.txt"), out.getvalue(), words_only=True)
        comparison.notes.append("Of what is printed the words were compared, of the runs the numbers.")
    sys.argv = [str(path), *golden.head["program"]["arguments"]]
    with contextlib.redirect_stdout(io.StringIO()):
        namespace = runpy.run_path(str(path), run_name="converted")
    kind = {"jax": _OnJax, "keras": _OnKeras}.get(known.target, _OnTensorFlow)
    kind(golden, comparison, known, path.name, namespace, {}).all()


class _Elsewhere(Converted):
    """Compares functions of another library with recorded runs."""

    keeps = True
    """Whether functions change variables, and do not only give values."""
    _shaken: np.random.RandomState | None = None
    _spread: dict[tuple[str, str], float] | None = None
    _step: Mapping[str, Any]
    _function: Function

    def one(self, step: Mapping[str, Any], function: Function) -> None:
        """Compare one run, unless it draws."""
        if step.get("draws") and function.name is not None:
            self.comparison.skip("runs that draw random numbers, of which the library draws others")
            return
        self._step, self._function = step, function
        self._spread = None
        super().one(step, function)

    def as_tensor(self, array: Any) -> Any:
        """An array as the library has it; while last bits are shaken, other ones."""
        array = np.asarray(array)
        if self._shaken is not None and array.dtype.kind == "f":
            steps = self._shaken.randint(-1, 2, array.shape)
            other = np.nextafter(array, np.where(steps > 0, np.inf, -np.inf).astype(array.dtype))
            array = np.where(steps == 0, array, other)
        return self.tensor(array)

    def tensor(self, array: np.ndarray) -> Any:
        """An array as the library has it."""
        raise NotImplementedError

    def held(self, name: str) -> np.ndarray | None:
        """The value of the variable that stands for one of the graph; None if there is none yet."""
        raise NotImplementedError

    def initialized(self, step: Mapping[str, Any]) -> None:
        self.comparison.skip("initial values, from which each run is set")

    def compare(self, step: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
        wanted = dict(zip(step["fetches"], step["results"], strict=True)) | dict(self.further_values(step))
        pairs = [("result", name, wanted[name], array) for name, array in results.items() if name in wanted]
        if self.keeps:
            after = {**step["before"], **step["after"]}
            named = [(name, d, self.held(name)) for name, d in after.items()]
            pairs += [("variable", name, d, array) for name, d, array in named if array is not None]
            for name, _, array in named:
                if array is None and name in step["after"] and name not in self._hidden:
                    self.comparison.skip(f"the variable {name} changes and is not in the map")
        # each of them, before last bits are shaken for one
        same = [self.value(step, what, name, d, array) for what, name, d, array in pairs]
        return not all(same)

    def further_values(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values that are recorded besides of a run."""
        return {}

    def value(self, step: Mapping[str, Any], what: str, name: str, described: Any, array: Any) -> bool:
        if described is None or not self.golden.holds(described):
            return True
        expected, array = np.asarray(self.golden.array(described)), np.asarray(array)
        counts = expected.dtype.kind in "iub" and array.dtype.kind in "iub"
        if counts or (expected.dtype.kind == array.dtype.kind == "f" and not array.ndim and array.dtype == np.float64):
            array = array.astype(expected.dtype)  # integers may be narrower elsewhere, and one number one of Python
        row = self.comparison.row(name if what == "result" else f"variable {name}")
        row.steps += 1
        if expected.shape == array.shape and expected.dtype == array.dtype:
            units = _units(expected, array)
            row.worst = max(row.worst, units)
            allowed = LOOSE if expected.dtype.kind in "fc" else 0.0
            if units > allowed and expected.dtype.kind in "fc":
                spread = self.spreads().get((what, name))
                allowed = max(allowed, AS_FAR * spread) if spread is not None else allowed
            row.allowed = max(row.allowed, allowed)
            if units <= allowed:
                row.equal += expected.tobytes() == array.tobytes()
                return True
        row.failed += 1
        self._notes.note(step, what, name, expected, array, None)
        return False

    def spreads(self) -> Mapping[tuple[str, str], float]:
        """By name, how far other last bits of what is given to the function of this run take what it gives."""
        if self._spread is None:
            self._spread = {}
            first = self._outcome(None)
            for seed in range(TRIES):
                for key, array in self._outcome(seed).items():
                    units = _units(first[key], array) if key in first and first[key].shape == array.shape else 0.0
                    self._spread[key] = max(self._spread.get(key, 0.0), units)
            self._outcome(None)
        return self._spread

    def _outcome(self, seed: int | None) -> dict[tuple[str, str], np.ndarray]:
        self._shaken = None if seed is None else np.random.RandomState(seed)
        try:
            self.set_variables(self._step)
            returned = self.call(self._step, self._function)
        finally:
            self._shaken = None
        found = {("result", n): np.asarray(x) for n, x in zip(self._function.returns, returned, strict=False)}
        names = {**self._step["before"], **self._step["after"]} if self.keeps else {}
        held = {("variable", name): self.held(name) for name in names}
        return found | {key: np.asarray(x) for key, x in held.items() if x is not None}


def _units(expected: np.ndarray, got: np.ndarray) -> float:
    """How far arrays are apart, in units in the last place of the largest element."""
    if expected.dtype.kind not in "fc":
        return 0.0 if np.array_equal(expected, got) else np.inf
    if not expected.size or np.array_equal(expected, got, equal_nan=True):
        return 0.0
    apart = np.abs(expected.astype(np.complex128) - got.astype(np.complex128))
    size = max(float(np.max(np.abs(expected), initial=0.0)), float(np.finfo(expected.dtype).tiny))
    far = float(np.max(apart)) / (size * float(np.finfo(expected.dtype).eps))
    return far if np.isfinite(far) else np.inf


class _OnTensorFlow(_Elsewhere):
    def tensor(self, array: np.ndarray) -> Any:
        return import_module("tensorflow").constant(array)

    def call(self, step: Mapping[str, Any], function: Function, events: Any = None) -> list[Any]:
        if function.name is None:
            return [np.asarray(self.evaluated(expression)) for expression in function.values]
        fed = [self.as_tensor(self.golden.array(step["feeds"][t])) for t in function.feeds.values()]
        result = self.evaluated(function.name)(*fed)
        flat = import_module("tensorflow").nest.flatten(result) if function.returns else []
        return [x.numpy() if hasattr(x, "numpy") else np.asarray(x) for x in flat]

    def prepare(self, step: Mapping[str, Any], function: Function) -> None:
        """Have the slots made that a function changes."""
        known = {n for n in {**step["before"], **step["after"]} if n in self._variables}
        if function.name is not None and any(self._variable_for(n) is None for n in known):
            self.call(step, function)

    def set_variables(self, step: Mapping[str, Any]) -> None:
        for name, described in step["before"].items():
            if (variable := self._variable_for(name)) is not None:
                variable.assign(self.as_tensor(self.golden.array(described)))

    def held(self, name: str) -> np.ndarray | None:
        variable = self._variable_for(name)
        return None if variable is None else np.asarray(variable.numpy())

    def variable(self, name: str, changed: Collection[str] = ()) -> Any:
        return self._variable_for(name)

    def _variable_for(self, name: str) -> Any:
        code = self._variables.get(name)
        if code is None:
            return None
        # what several variables share is behind another name there
        return self.evaluated(code.replace(".kept_together()", "._get_beta_accumulators()"))


class _OnKeras(_OnTensorFlow):
    """The slots of a compiled model's optimizer lie in lists, in the order of its variables."""

    def _variable_for(self, name: str) -> Any:
        code = self._variables.get(name, "")
        optimizer, model = self.namespace["model"].optimizer, self.namespace["model"]
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        if slot := re.fullmatch(r'\w+\.get_slot\((.+), "?\'?(\w+)"?\'?\)', code):
            variable = self.evaluated(slot[1])
            at = [v is variable for v in model.trainable_variables].index(True)
            lists = {"m": "_momentums", "v": "_velocities", "momentum": "momentums"}
            held = getattr(optimizer, lists[slot[2]])[at]
            return _Momentum(held, optimizer) if slot[2] == "momentum" else held
        if ".kept_together()" in code:
            return _Power(optimizer, "beta_1" if ".get(0)" in code else "beta_2")
        return self.evaluated(code) if code else None


class _Momentum:
    """A sum of gradients, which Keras keeps multiplied by the rate, and with the other sign."""

    def __init__(self, held: Any, optimizer: Any) -> None:
        self.held, self.factor = held, -np.float32(optimizer.learning_rate.numpy())

    def assign(self, array: Any) -> None:
        """Set it to a sum of gradients."""
        self.held.assign(np.asarray(array) * self.factor)

    def numpy(self) -> np.ndarray:
        """The sum of gradients."""
        return np.asarray(self.held.numpy() / self.factor)


class _Power:
    """The power of one of Adam's decays, which TensorFlow 1 keeps, where Keras counts steps."""

    def __init__(self, optimizer: Any, decay: str) -> None:
        self.optimizer, self.decay = optimizer, np.float32(getattr(optimizer, decay))

    def assign(self, power: Any) -> None:
        """Set the count of steps."""
        if self.decay == np.float32(self.optimizer.beta_1):  # the other one says the same, less exactly
            self.optimizer.iterations.assign(round(np.log(float(power)) / np.log(float(self.decay))) - 1)

    def numpy(self) -> np.ndarray:
        """The power after as many steps, multiplied as TensorFlow 1 does."""
        power = self.decay
        for _ in range(int(self.optimizer.iterations.numpy())):
            power = np.float32(power * self.decay)
        return np.asarray(power)


class _OnJax(_Elsewhere):
    keeps = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._compiled: dict[str, Any] = {}

    def tensor(self, array: np.ndarray) -> Any:
        return import_module("jax").numpy.asarray(array)

    def call(self, step: Mapping[str, Any], function: Function, events: Any = None) -> list[Any]:
        if function.name is None:
            return []
        fed = [self.as_tensor(self.golden.array(step["feeds"][t])) for t in function.feeds.values()]
        jax = import_module("jax")
        compiled = self._compiled.setdefault(function.name, jax.jit(self.evaluated(function.name)))
        return [np.asarray(x) for x in jax.tree_util.tree_leaves(compiled(self.namespace["params"], *fed))]

    def prepare(self, step: Mapping[str, Any], function: Function) -> None:
        """Nothing: there are no slots."""

    def set_variables(self, step: Mapping[str, Any]) -> None:
        for name, described in step["before"].items():
            keys = self.map.params.get(name)
            if keys is not None:
                held = self.namespace["params"]
                for key in keys[:-1]:
                    held = held[key]
                held[keys[-1]] = self.as_tensor(self.golden.array(described))

    def further_values(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: d for name, d in step.get("ops", {}).items() if d is not None}
