"""TensorFlow's ``test_util`` and ``context``: decorators of tests, which say in which mode a test runs.

Each API is one mode. A test for both modes runs in the one that there is; a test for the other one alone is skipped,
and the reason says how to run it.
"""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

from dualgrad.extras.testing import CapturedWrites, gpu_device_name, is_gpu_available  # noqa: F401
from dualgrad.migrate.internal_tools import enabled

Test = Callable[..., Any]


def _api() -> Any:
    return import_module("tensorflow")


def __getattr__(name: str) -> Any:
    if name in ("TensorFlowTestCase", "FakeEagerSession"):
        return _api().test.TestCase
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), "TensorFlowTestCase"]


# ---- which mode ------------------------------------------------------------------------------------------------------


def _is_class(decorated: Any) -> bool:
    return isinstance(decorated, type)


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[type], type]:
    """A decorator of classes that decorates each test of one."""

    def decorate(cls: type) -> type:
        for name in unittest.TestLoader.testMethodPrefix, "_test":
            for key, value in [*vars(cls).items()]:
                if key.startswith(name) and callable(value) and key != "test_session":
                    setattr(cls, key, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def _optional(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of tests and classes that may be called with arguments first: ``@run(reason)``."""

    @functools.wraps(decorator)
    def decorate(func: Any = None, *_: Any, **options: Any) -> Any:
        def each(decorated: Any) -> Any:
            if _is_class(decorated):
                return for_all_test_methods(lambda: functools.partial(decorator, **options))(decorated)
            return decorator(decorated, **options)

        return each(func) if callable(func) else each

    return decorate


def _in_graph(test: Test) -> Test:
    @functools.wraps(test)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        if enabled():
            self.skipTest("a test of graphs: run it with --api 1")
        with _api().Graph().as_default():
            test(self, *args, **kwargs)

    return run


def _skipping(reason: str, skipped: Callable[[], bool]) -> Callable[[Test], Test]:
    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            if skipped():
                self.skipTest(reason)
            test(self, *args, **kwargs)

        return run

    return decorate


@_optional
def run_in_graph_and_eager_modes(
    test: Test, config: Any = None, use_gpu: bool = True, assert_no_eager_garbage: bool = False, **_: Any
) -> Test:
    """A test that runs in either mode: here in that of the API. In a graph `evaluate` has a session."""

    @functools.wraps(test)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        if enabled():
            test(self, *args, **kwargs)
            return
        with _api().Graph().as_default(), self.test_session(config=config):
            test(self, *args, **kwargs)

    return run


run_all_in_graph_and_eager_modes = run_in_graph_and_eager_modes


@_optional
def run_deprecated_v1(test: Test, **_: Any) -> Test:
    """A test of graphs."""
    return _in_graph(test)


deprecated_graph_mode_only = run_all_in_deprecated_graph_mode_only = run_deprecated_v1


def _skips(reason: str, skipped: Callable[[], bool]) -> Callable[..., Any]:
    """The decorator of tests that are skipped if something holds."""
    return _optional(lambda test, **_: _skipping(reason, skipped)(test))


run_v1_only = _skips("a test of TensorFlow 1: run it with --api 1", enabled)
run_v2_only = _skips("a test of TensorFlow 2: run it with --api 2", lambda: not enabled())
run_gpu_only = run_cuda_only = run_gpu_or_tpu = _skips("a test that needs a GPU", lambda: True)


@_optional
def _as_it_is(decorated: Any, **_: Any) -> Any:
    """The test itself: what its decorator changes in TensorFlow has no counterpart here."""
    return decorated


run_in_v1_v2 = run_class_in_v1_v2 = build_as_function_and_v1_graph = run_in_async_and_sync_mode = _as_it_is
disable_xla = no_xla_auto_jit = xla_allow_fallback = disable_tfrt = disable_mlir_bridge = _as_it_is
disable_asan = disable_msan = disable_tsan = disable_ubsan = disable_cudnn_autotune = _as_it_is
enable_control_flow_v2 = disable_control_flow_v2 = with_control_flow_v2 = _as_it_is
enable_c_shapes = with_c_shapes = enable_output_all_intermediates = enable_tf_xla_constant_folding = _as_it_is
assert_no_new_pyobjects_executing_eagerly = assert_no_new_tensors = assert_no_garbage_created = _as_it_is
run_without_tensor_float_32 = run_all_without_tensor_float_32 = matmul_without_tf32 = _as_it_is
with_forward_compatibility_horizons = enable_eager_op_as_function = with_eager_op_as_function = _as_it_is
disable_eager_op_as_function = enable_graph_building_optimization = enable_nested_function_shape_inference = _as_it_is
add_graph_building_optimization_tests = enable_quantized_dtypes_training = _as_it_is
also_run_as_tf_function = py_func_if_in_function = _as_it_is


def skip_if(condition: Any) -> Callable[[Test], Test]:
    """Skip a test if something holds: a bool, or a function that says so when the test runs."""
    return _skipping("skipped by its condition", lambda: bool(condition() if callable(condition) else condition))


@contextmanager
def eager_mode() -> Iterator[None]:
    """The mode of tapes; with the API of graphs the test is skipped, for a program has one mode here.

    Raises
    ------
    unittest.SkipTest
        With the API of graphs.
    """
    if not enabled():
        raise unittest.SkipTest("eager execution beside graphs: run it with --api 2")
    yield


@contextmanager
def graph_mode() -> Iterator[None]:
    """The mode of graphs, with a new one; with the API of tapes the test is skipped.

    Raises
    ------
    unittest.SkipTest
        With the API of tapes.
    """
    if enabled():
        raise unittest.SkipTest("graphs beside eager execution: run it with --api 1")
    with _api().Graph().as_default():
        yield


# ---- the machine -----------------------------------------------------------------------------------------------------


def _no() -> bool:
    """False: everything runs on the CPU, in NumPy."""
    return False


is_xla_enabled = is_mlir_bridge_enabled = is_asan_enabled = is_msan_enabled = is_tsan_enabled = is_ubsan_enabled = _no
IsGoogleCudaEnabled = IsBuiltWithROCm = IsBuiltWithXLA = IsBuiltWithNvcc = IsMklEnabled = _no
GpuSupportsHalfMatMulAndConv = is_built_with_rocm = is_built_with_gpu_support = is_built_with_xla = _no


def use_gpu(use_gpu: bool = True) -> Any:
    """Nothing: there is one device."""
    return nullcontext()


device = force_gpu = force_cpu = deterministic_ops = InstallStackTraceHandler = use_gpu
