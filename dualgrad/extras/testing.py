"""``tf.test.TestCase``: assertions about tensors and arrays, in nests too."""

from __future__ import annotations

import io
import operator
import random
import re
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np

from dualgrad.files.text_format_parser import parse
from dualgrad.frontend.seeds import DEFAULT_SEED
from engine.core import nest
from engine.core.value import Value
from engine.runtime.errors import OpError


def _all_are(compare: Callable[[Any, Any], Any], sign: str, words: str) -> Callable[..., None]:
    def assertion(self: Assertions, a: Any, comparison_target: Any) -> None:
        found = self._array(a)
        self.assertTrue(np.all(compare(found, comparison_target)), f"{found} {sign} {comparison_target}")

    assertion.__doc__ = f"Fail unless all elements are {words}."
    return assertion


class Assertions(unittest.TestCase):
    """A test case with assertions about arrays; a front end says what a tensor's value is (`evaluate`)."""

    session: Any

    def setUp(self) -> None:
        """Start all random numbers anew; a front end seeds its own."""
        super().setUp()
        random.seed(DEFAULT_SEED)
        np.random.seed(DEFAULT_SEED)

    def test_session(self, *args: Any, **kwargs: Any) -> Any:
        """`session`, under a name that makes it look like a test of its own."""
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        return self.session(*args, **kwargs)

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors."""
        return nest.map_structure(lambda x: x.numpy() if hasattr(x, "numpy") else x, tensors)

    def _array(self, x: Any) -> np.ndarray:
        parts = nest.flatten(x) if isinstance(x, (list, tuple)) else [x]
        has_tensors = any(isinstance(part, Value) or hasattr(part, "as_value") for part in parts)
        return np.asarray(self.evaluate(x) if has_tensors else x)

    def _pairs(self, a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
        """The parts of two nests of dicts and of named tuples; lists are arrays."""
        if isinstance(a, dict) and isinstance(b, dict):
            self.assertEqual(sorted(a), sorted(b))
            for key in a:
                yield from self._pairs(a[key], b[key])
        elif hasattr(a, "_fields") or (isinstance(a, (list, tuple)) and not _is_array(a)):
            self.assertEqual(len(a), len(b))
            for one, other in zip(a, b, strict=True):
                yield from self._pairs(one, other)
        else:
            yield self._array(a), self._array(b)

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fail unless all elements agree within the tolerances."""
        for one, other in self._pairs(a, b):
            self.assertEqual(one.shape, other.shape, msg)
            np.testing.assert_allclose(one, other, rtol, atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, float_rtol: float = 1e-6,
        float_atol: float = 1e-6, half_rtol: float = 1e-3, half_atol: float = 1e-3, msg: str | None = None, **_: Any,
    ) -> None:  # fmt: skip
        """The same, with wider tolerances for smaller dtypes."""
        kinds = {x.dtype.name for x in (self._array(a), self._array(b))}
        if kinds & {"float32", "complex64"}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if "float16" in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Fail if all elements agree within the tolerances."""
        with self.assertRaises(AssertionError, msg=f"The two values are close at all elements. {msg or ''}"):
            self.assertAllClose(a, b, rtol, atol)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail unless all elements are equal."""
        one, other = self._array(a), self._array(b)
        if one.dtype.kind == "O" or other.dtype.kind in "OSU":
            one, other = (np.array([_bytes(x) for x in v.ravel()], object).reshape(v.shape) for v in (one, other))
        np.testing.assert_array_equal(one, other, err_msg=msg or "", strict=False)
        self.assertEqual(one.shape, other.shape, msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail if all elements are equal."""
        with self.assertRaises(AssertionError, msg=f"The two values are equal at all elements. {msg or ''}"):
            self.assertAllEqual(a, b)

    assertAllGreater = _all_are(operator.gt, ">", "greater")  # noqa: N815
    assertAllLess = _all_are(operator.lt, "<", "less")  # noqa: N815
    assertAllGreaterEqual = _all_are(operator.ge, ">=", "at least that")  # noqa: N815
    assertAllLessEqual = _all_are(operator.le, "<=", "at most that")  # noqa: N815

    def assertAllInRange(
        self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:  # fmt: skip
        """Fail unless all elements lie between the bounds."""
        x = self._array(target)
        low = x > lower_bound if open_lower_bound else x >= lower_bound
        high = x < upper_bound if open_upper_bound else x <= upper_bound
        self.assertTrue(np.all(low & high), f"{x} in [{lower_bound}, {upper_bound}]")

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """Fail unless each element is one of a set."""
        self.assertLessEqual(set(self._array(target).ravel().tolist()), set(expected_set))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """Fail if elements of two lists differ by more than `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """Fail if the distance of two arrays is larger than `err`."""
        self.assertLess(float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2))), err, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fail if two numbers differ by more than `err`."""
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Fail unless two arrays or tensors have one static shape."""
        one, other = (tuple(x.shape.as_list() if hasattr(x.shape, "as_list") else x.shape) for x in (input_a, input_b))
        self.assertEqual(one, other, msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fail unless all elements are of a dtype of NumPy's."""
        self.assertEqual(self._array(target).dtype, np.dtype(expected_dtype))

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fail unless a text begins so."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertRaisesWithLiteralMatch(
        self, expected_exception: type[BaseException], expected_exception_message: str, *called: Any, **keywords: Any
    ) -> Any:
        """Raising an exception whose text is this one, to the letter."""
        pattern = rf"\A{re.escape(expected_exception_message)}\Z"
        return self.assertRaisesRegex(expected_exception, pattern, *called, **keywords)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two names of one device."""
        one, other = (str(device or "").lower().replace("device:", "").lstrip("/") for device in (device1, device2))
        self.assertEqual(one, other, msg)

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """``minv <= value <= maxv``."""
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} is not between {minv!r} and {maxv!r}")

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container with something in it."""
        self.assertTrue(len(container), msg)

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """The same elements, however often and in whatever order."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertContainsSubset(self, expected_subset: Any, actual_set: Any, msg: str | None = None) -> None:
        """A set with all elements of another one."""
        self.assertLessEqual(set(expected_subset), set(actual_set), msg)

    assertItemsEqual = unittest.TestCase.assertCountEqual  # noqa: N815

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """Fail unless a text ends so."""
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r} does not end with {expected_end!r}")

    def assertSequenceAlmostEqual(
        self, expected_seq: Any, actual_seq: Any, places: int | None = None, msg: str | None = None,
        delta: float | None = None,
    ) -> None:  # fmt: skip
        """Fail unless two sequences of numbers agree item by item."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for one, other in zip(expected_seq, actual_seq, strict=True):
            exactness: dict[str, Any] = {"places": places} if delta is None else {"delta": delta}
            self.assertAlmostEqual(one, other, msg=msg, **exactness)

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None) -> None:
        """Fail unless a message equals another one, or the one that a text says."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, (str, bytes)):
            text = expected if isinstance(expected, str) else expected.decode()
            expected = parse(type(message), text.encode())
        self.assertEqual(str(expected), str(message), msg)

    def assertRaisesIncompatibleShapesError(
        self, exception_type: Any = (ValueError, OpError), *called: Any, **keywords: Any
    ) -> Any:
        """Raising that shapes do not fit together."""
        return self.assertRaisesRegex(exception_type, r"(?i)incompatible|must be equal|broadcast", *called, **keywords)

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """Text that is written to a stream of Python's (``sys.stderr``) inside, with `contents`."""
        captured = CapturedWrites()
        name = "stderr" if stream is sys.stderr else "stdout"
        with (redirect_stderr if name == "stderr" else redirect_stdout)(captured):
            yield captured

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Two values, as arrays if both are tensors."""
        return (self._array(a), self._array(b)) if isinstance(a, Value) and isinstance(b, Value) else (a, b)

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """A thread whose exceptions fail the test when it is joined."""
        return CheckedThread(target=target, args=args or (), kwargs=kwargs or {})

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """Fail unless there is nothing in it."""
        self.assertEqual(len(container), 0, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """Fail unless it has so many items."""
        self.assertEqual(len(container), expected_len, msg)

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[BaseException], bool]
    ) -> Iterator[None]:
        """Fail unless the body raises an exception whose text, or which itself, is as it should be."""
        with self.assertRaises(exception_type) as raised:
            yield
        if callable(expected_err_re_or_predicate):
            self.assertTrue(expected_err_re_or_predicate(raised.exception), repr(raised.exception))
        else:
            self.assertRegex(str(raised.exception), expected_err_re_or_predicate)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Fail unless the body raises an error of an op."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def get_temp_dir(self) -> str:
        """A folder of this test's own, which is gone afterwards."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name


class CapturedWrites(io.StringIO):
    """Text that was written."""

    def contents(self) -> str:
        """All of it."""
        return self.getvalue()


class CheckedThread(threading.Thread):
    """A thread that keeps what its function raises, for `join`."""

    _error: BaseException | None = None

    def run(self) -> None:
        """Call the function."""
        try:
            super().run()
        except BaseException as error:  # noqa: BLE001
            self._error = error

    def join(self, timeout: float | None = None) -> None:
        """Wait for it; AssertionError if it raised something."""
        super().join(timeout)
        if self._error is not None:
            raise AssertionError(f"an exception in a thread: {self._error!r}") from self._error


def _is_array(x: Any) -> bool:
    """Whether a list is one of numbers or tensors, or of such lists of one length."""
    if not isinstance(x, (list, tuple)):
        return not isinstance(x, dict)
    lengths = {len(item) for item in x if isinstance(item, (list, tuple))}
    shapes = {tuple(item.shape) for item in x if isinstance(item, (np.ndarray, Value))}
    return len(lengths) <= 1 and len(shapes) <= 1 and all(map(_is_array, x))


def _bytes(x: Any) -> Any:
    return x.encode() if isinstance(x, str) else x


main = unittest.main
"""Run the tests of the calling module."""


def is_built_with_cuda() -> bool:
    """False: everything runs on the CPU."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """False: everything runs on the CPU."""
    return False


def gpu_device_name() -> str:
    """The empty string: there is none."""
    return ""


def get_temp_dir() -> str:
    """A folder for files of tests, which is the same one until the process ends, and is removed then."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory()
    return _folder.name


_folder: tempfile.TemporaryDirectory[str] | None = None
