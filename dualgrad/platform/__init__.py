"""Parts of TensorFlow's API beside tensors, for programs: logging, flags, mains, files, devices.

The tables say under which names; `graph_api.lazy_names` explains them.
"""

from __future__ import annotations

_FILES = ("exists", "isdir", "listdir", "makedirs", "mkdir", "glob", "GFile", "remove", "rename", "rmtree", "copy")
_CONFIG = "dualgrad.platform.config:"

VERSION1: tuple[tuple[str, str], ...] = (
    ("dualgrad.platform.app:", "app.run"),
    ("dualgrad.platform.flags", "flags app.flags"),
    ("dualgrad.platform.logging", "logging"),
    (
        "dualgrad.platform.gfile:",
        (
            "gfile.GFile gfile.Open gfile.FastGFile gfile.Exists gfile.IsDirectory gfile.ListDirectory gfile.MakeDirs "
            "gfile.MkDir gfile.Glob gfile.Remove gfile.DeleteRecursively gfile.Copy gfile.Rename gfile.Stat gfile.Walk"
        ),
    ),
)
BOTH: tuple[tuple[str, str], ...] = (
    ("dualgrad.platform.gfile:", " ".join(f"io.gfile.{name}" for name in (*_FILES, "stat", "walk", "join"))),
    (
        _CONFIG,
        (
            "config.PhysicalDevice config.LogicalDevice config.LogicalDeviceConfiguration config.list_physical_devices "
            "config.list_logical_devices config.get_visible_devices config.set_visible_devices "
            "config.set_logical_device_configuration config.run_functions_eagerly config.functions_run_eagerly "
            "config.experimental_run_functions_eagerly config.experimental_functions_run_eagerly "
            "config.set_soft_device_placement config.get_soft_device_placement"
        ),
    ),
    (
        _CONFIG,
        (
            "config.experimental.VirtualDeviceConfiguration config.experimental.list_physical_devices "
            "config.experimental.list_logical_devices config.experimental.get_visible_devices "
            "config.experimental.set_visible_devices config.experimental.set_memory_growth "
            "config.experimental.get_memory_growth config.experimental.set_virtual_device_configuration "
            "config.experimental.enable_op_determinism config.experimental.enable_tensor_float_32_execution "
            "config.experimental.tensor_float_32_execution_enabled"
        ),
    ),
    (
        _CONFIG,
        (
            "config.threading.set_intra_op_parallelism_threads config.threading.get_intra_op_parallelism_threads "
            "config.threading.set_inter_op_parallelism_threads config.threading.get_inter_op_parallelism_threads "
            "config.optimizer.set_jit config.optimizer.get_jit"
        ),
    ),
)
