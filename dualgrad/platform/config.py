"""``tf.config``: what there is to compute with. One device, the CPU, whose cores share large steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.executor.extension import share
from engine.runtime.errors import UnimplementedError


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """A part of a device: of GPUs, which there are none of here."""

    memory_limit: Any = None
    experimental_priority: Any = None


VirtualDeviceConfiguration = LogicalDeviceConfiguration

_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_LOGICAL = LogicalDevice("/device:CPU:0", "CPU")
_settings: dict[str, Any] = {"eager": False, "soft": True, "intra": 0, "inter": 0, "jit": ""}


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of a type: one CPU, no GPU."""
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices of a type, as programs name them."""
    return [_LOGICAL] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that programs may use: all."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Choose among the devices of a type. There is one CPU, which cannot be taken away.

    Raises
    ------
    ValueError
        If a device is none of this machine's, or the CPU is not among those chosen.
    """
    one = isinstance(devices, PhysicalDevice) or not isinstance(devices, (list, tuple))
    chosen = [d for d in ([devices] if one else devices) if d is not None]
    unknown = [d for d in chosen if d != _CPU]
    if unknown or (device_type in (None, "CPU") and _CPU not in chosen):
        raise ValueError(f"set_visible_devices: there is one device, {_CPU}, on which everything runs; got {devices!r}")


def _no_gpu(what: str, device: Any) -> ValueError:
    return ValueError(f"{what}: the device must be a GPU, and there are none here; got {device!r}")


def set_memory_growth(device: Any, enable: bool) -> None:
    """Only of GPUs, of which there are none: `list_physical_devices` gives no device to call this with.

    Raises
    ------
    ValueError
        Always.
    """
    raise _no_gpu("set_memory_growth", device)


def get_memory_growth(device: Any) -> bool:
    """Only of GPUs, of which there are none.

    Raises
    ------
    ValueError
        Always.
    """
    raise _no_gpu("get_memory_growth", device)


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Divide a device: not here, unless into one part without limits.

    Raises
    ------
    UnimplementedError
        If there are to be several parts, or a limit.
    """
    if len(logical_devices) != 1 or logical_devices[0].memory_limit is not None:
        raise UnimplementedError("set_logical_device_configuration: the CPU is one device here, without limits")


set_virtual_device_configuration = set_logical_device_configuration


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether a `function` runs its Python code each time it is called."""
    _settings["eager"] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """The setting of `run_functions_eagerly`."""
    return bool(_settings["eager"])


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_soft_device_placement(enabled: bool) -> None:
    """Kept: everything runs on the CPU, whatever device is asked for."""
    _settings["soft"] = bool(enabled)


def get_soft_device_placement() -> bool:
    """The setting of `set_soft_device_placement`."""
    return bool(_settings["soft"])


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Let so many threads share large steps of programs made from now on; BLAS's follow OPENBLAS_NUM_THREADS."""
    share(num_threads)
    _settings["intra"] = int(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """The setting of `set_intra_op_parallelism_threads`."""
    return int(_settings["intra"])


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Kept: operations run one after the other."""
    _settings["inter"] = int(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """The setting of `set_inter_op_parallelism_threads`."""
    return int(_settings["inter"])


def set_jit(enabled: Any) -> None:
    """Kept: every run is optimized, without a compiler to choose."""
    _settings["jit"] = "autoclustering" if enabled is True else enabled or ""


def get_jit() -> str:
    """The setting of `set_jit`."""
    return str(_settings["jit"])


def enable_op_determinism() -> None:
    """Nothing to do: every run of a program gives the same numbers."""


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Nothing to do: there are no such numbers on a CPU."""


def tensor_float_32_execution_enabled() -> bool:
    """No."""
    return False
