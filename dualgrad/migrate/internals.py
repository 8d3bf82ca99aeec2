"""TensorFlow's internal modules that programs import (``tensorflow.python.framework.ops``), made of public names.

A module is a list of the parts of the API in which its names are looked for, in this order.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from dualgrad.migrate.internal_modules import modules

INTERNALS: dict[str, str] = {
    "python.pywrap_tensorflow": "train",
    "python.tf2": "dualgrad.migrate.internal_tools:",
    "python.framework.ops": ". dualgrad.migrate.internal_framework:",
    "python.framework.dtypes": ". dtypes",
    "python.framework.tensor_shape": ". dualgrad.migrate.internal_framework:",
    "python.framework.constant_op": ".",
    "python.framework.errors": "errors",
    "python.framework.errors_impl": "errors",
    "python.framework.random_seed": "dualgrad.migrate.internal_framework: . random",
    "python.framework.tensor_util": ". contrib.util dualgrad.migrate.internal_framework:",
    "python.framework.graph_util": "graph_util",
    "python.framework.graph_io": "train",
    "python.framework.function": "graph_api.legacy.internal_functions: .",
    "python.framework.sparse_tensor": ".",
    "python.framework.indexed_slices": ".",
    "python.framework.test_util": "dualgrad.migrate.internal_test_util: test",
    "python.framework.tensor": ".",
    "python.framework.tensor_spec": ".",
    "python.framework.tensor_conversion": ".",
    "python.framework.tensor_conversion_registry": "graph_api.legacy.conversions: .",
    "python.framework.meta_graph": "train",
    "python.framework.importer": ". graph_util",
    "python.ops.standard_ops": ". math linalg",
    "python.ops.nn_grad": "graph_api.legacy.registered_gradients:",
    "python.ops.math_grad": "graph_api.legacy.registered_gradients:",
    "python.ops.array_grad": "graph_api.legacy.registered_gradients:",
    "python.ops.array_ops_stack": ".",
    "python.ops.bincount_ops": "math",
    "python.ops.bitwise_ops": "bitwise",
    "python.ops.cond": ".",
    "python.ops.confusion_matrix": "graph_api.legacy.internal_functions: math .",
    "python.ops.control_flow_assert": ". debugging",
    "python.ops.control_flow_case": ".",
    "python.ops.custom_gradient": ".",
    "python.ops.gradient_checker_v2": "dualgrad.migrate.internal_gradient_checker:",
    "python.ops.gradients_util": ".",
    "python.ops.init_ops_v2": ". initializers",
    "python.ops.initializers_ns": "initializers",
    "python.ops.image_ops_impl": "image",
    "python.ops.map_fn": ".",
    "python.ops.sort_ops": ".",
    "python.ops.stateless_random_ops": "random",
    "python.ops.variable_v1": ".",
    "python.ops.while_loop": ".",
    "python.ops.linalg.linalg": "linalg",
    "python.ops.linalg.linear_operator": "linalg",
    "python.ops.linalg.linear_operator_block_diag": "linalg",
    "python.ops.linalg.linear_operator_circulant": "linalg",
    "python.ops.linalg.linear_operator_composition": "linalg",
    "python.ops.linalg.linear_operator_diag": "linalg",
    "python.ops.linalg.linear_operator_full_matrix": "linalg",
    "python.ops.linalg.linear_operator_identity": "linalg",
    "python.ops.linalg.linear_operator_kronecker": "linalg",
    "python.ops.linalg.linear_operator_low_rank_update": "linalg",
    "python.ops.linalg.linear_operator_lower_triangular": "linalg",
    "python.ops.signal.dct_ops": "signal",
    "python.ops.signal.fft_ops": "signal",
    "python.ops.signal.spectral_ops": "signal",
    "python.ops.signal.window_ops": "signal",
    "python.ops.array_ops": "graph_api.legacy.internal_functions: . sparse",
    "python.framework.smart_cond": "graph_api.legacy.internal_functions: .",
    "core.protobuf.rewriter_config_pb2": "dualgrad.frontend.session_options:",
    "python.ops.math_ops": ". math",
    "python.ops.linalg_ops": ". linalg",
    "python.ops.linalg.linalg_impl": "linalg",
    "python.ops.nn_ops": "nn .",
    "python.ops.gen_nn_ops": "graph_api.legacy.kernel_gradients: nn .",
    "python.ops.gen_math_ops": "graph_api.legacy.kernel_gradients: . math",
    "python.ops.gen_array_ops": "graph_api.legacy.internal_functions: .",
    "python.ops.gen_linalg_ops": ". linalg",
    "python.ops.gen_state_ops": ".",
    "python.ops.ctc_ops": "nn",
    "python.ops.histogram_ops": ".",
    "python.ops.nn_impl": "nn",
    "python.ops.nn": "nn",
    "python.ops.control_flow_ops": ".",
    "python.ops.functional_ops": ".",
    "python.ops.tensor_array_ops": ".",
    "python.ops.variable_scope": "graph_api.legacy.internal_functions: .",
    "python.ops.variables": "graph_api.legacy.internal_functions: .",
    "python.ops.metrics_impl": "graph_api.legacy.internal_functions: metrics .",
    "python.ops.resource_variable_ops": ".",
    "python.ops.state_ops": ".",
    "python.ops.init_ops": ". initializers",
    "python.ops.random_ops": ". random",
    "python.ops.clip_ops": ".",
    "python.ops.check_ops": ". debugging",
    "python.ops.logging_ops": ". summary",
    "python.ops.script_ops": ".",
    "python.ops.data_flow_ops": ".",
    "python.ops.embedding_ops": "nn",
    "python.ops.gradients": ".",
    "python.ops.gradients_impl": ".",
    "python.ops.gradient_checker": "test",
    "python.ops.image_ops": "image",
    "python.ops.sparse_ops": "sparse .",
    "python.ops.string_ops": "strings .",
    "python.ops.special_math_ops": "math .",
    "python.ops.partitioned_variables": ".",
    "python.ops.metrics": "graph_api.legacy.internal_functions: metrics",
    "python.ops.losses.losses": "losses",
    "python.ops.losses.losses_impl": "losses",
    "python.ops.losses.util": "losses",
    "python.ops.rnn": "nn",
    "python.ops.rnn_cell": "nn.rnn_cell",
    "python.ops.rnn_cell_impl": "nn.rnn_cell contrib.rnn",
    "python.ops.seq2seq": "nn.seq2seq",
    "python.ops.distributions.normal": "distributions",
    "python.ops.distributions.util": "distributions",
    "python.training.optimizer": "train",
    "python.training.adam": "train",
    "python.training.gradient_descent": "train",
    "python.training.momentum": "train",
    "python.training.rmsprop": "train",
    "python.training.adagrad": "train",
    "python.training.training_util": "train",
    "python.training.training": "train",
    "python.training.moving_averages": "train graph_api.legacy.moving_averages:",
    "python.training.basic_session_run_hooks": "train",
    "python.training.monitored_session": "train",
    "python.training.supervisor": "train",
    "python.training.queue_runner": "train",
    "python.training.coordinator": "train",
    "python.training.input": "train",
    "python.training.adadelta": "train",
    "python.training.adagrad_da": "train",
    "python.training.ftrl": "train",
    "python.training.learning_rate_decay": "train",
    "python.training.saver": "train",
    "python.training.checkpoint_utils": "train",
    "python.training.session_run_hook": "train",
    "python.training.training_ops": "train",
    "python.training.checkpointable.util": "train",
    "python.client.device_lib": "graph_api.legacy.internal_functions: .",
    "python.training.slot_creator": "graph_api.legacy.internal_functions: .",
    "python.ops.parallel_for": "graph_api.legacy.internal_functions: .",
    "python.ops.parallel_for.control_flow_ops": "graph_api.legacy.internal_functions: .",
    "python.ops.parallel_for.gradients": ".",
    "python.framework.common_shapes": "graph_api.legacy.internal_functions:",
    "python.client.session": "graph_api.legacy.conversions: .",
    "python.layers.layers": "layers",
    "python.layers.base": "layers",
    "python.layers.core": "graph_api.legacy.internal_layers: layers",
    "python.layers.convolutional": "graph_api.legacy.internal_layers: layers",
    "python.layers.normalization": "graph_api.legacy.internal_layers: layers",
    "python.layers.pooling": "graph_api.legacy.internal_layers: layers",
    "python.layers.utils": "graph_api.legacy.internal_functions: layers",
    "python.platform.app": "app",
    "python.platform.flags": "flags app.flags",
    "python.platform.gfile": "gfile",
    "python.platform.tf_logging": "logging",
    "python.platform.test": "test",
    "python.platform.googletest": "test",
    "python.lib.io.file_io": "io.gfile gfile",
    "python.lib.io.tf_record": "io python_io",
    "python.summary.summary": "summary",
    "python.util.nest": "nest dualgrad.migrate.internal_framework:",
    "python.data.util.nest": "nest",
    "python.data.ops.dataset_ops": "data",
    "python.eager.context": "dualgrad.migrate.internal_test_util: . config",
    "python.eager.backprop": ". tape_api.contrib_eager:",
    "python.eager.def_function": ".",
    "python.keras.backend": "keras.backend",
    "python.keras.layers": "keras.layers",
    "python.keras.models": "keras.models keras",
    "python.keras.optimizers": "keras.optimizers",
    "python.keras.datasets.mnist": "keras.datasets.mnist",
    "python.keras.utils": "keras.utils",
    "python.keras.callbacks": "keras.callbacks",
    "python.keras.losses": "keras.losses",
    "python.keras.initializers": "keras.initializers",
    "python.keras.regularizers": "keras.regularizers",
    "python.keras.preprocessing.image": "keras.preprocessing.image",
    "contrib.layers.python.layers.layers": "contrib.layers",
    "contrib.layers.python.layers.initializers": "contrib.layers",
    "contrib.layers.python.layers.regularizers": "contrib.layers",
    "contrib.layers.python.layers.utils": "contrib.layers",
    "contrib.layers.python.layers": "contrib.layers",
    "contrib.framework.python.ops.arg_scope": "contrib.framework",
    "contrib.framework.python.ops.variables": "contrib.framework",
    "contrib.framework.python.ops": "contrib.framework",
    "contrib.rnn.python.ops.core_rnn_cell": "contrib.rnn nn.rnn_cell",
    "contrib.rnn.python.ops.rnn_cell": "contrib.rnn nn.rnn_cell",
    "contrib.rnn.python.ops.core_rnn": "contrib.rnn nn",
    "contrib.opt.python.training.external_optimizer": "contrib.opt",
    "contrib.slim.python.slim.data.data_decoder": "graph_api.legacy.slim.data_decoder:",
    "contrib.slim.python.slim.learning": "",
    "contrib.learn.python.learn.datasets.mnist": "contrib.learn.datasets.mnist",
}
"""By name: the parts of the API, ``.`` for the top, ``module:`` for what only TensorFlow's own modules have."""


def is_internal(path: str) -> bool:
    """Whether TensorFlow has a module of this name of its own."""
    return any(f"{known}.".startswith(f"{path}.") for known in (*INTERNALS, *modules()))


def imported(path: str, name: str) -> str | None:
    """Another one of TensorFlow's own modules that a program takes from one that imports it: ``rnn.rnn_cell_impl``."""
    if not path.startswith("python."):
        return None
    folders = ("python.ops", "python.framework", "python.training", "python.util", "python.eager", "python.platform")
    return next((f"{folder}.{name}" for folder in folders if is_internal(f"{folder}.{name}")), None)


class Internals(ModuleType):
    """One of these modules, or a package of them."""

    def __init__(self, path: str, api: Any) -> None:
        super().__init__(path, f"Public names under the name that TensorFlow's own modules have: {path}.")
        self.__api__ = api
        self.__wanted__ = INTERNALS.get(path, modules().get(path, "")).split()
        self.__known__ = path
        # until TensorFlow 1.7 the names in generated modules began with an underscore; those of gradients still do
        self.__generated__ = ".gen_" in path or path.endswith("_grad")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            if name.startswith("_") and self.__generated__:
                name = name[1:]
            for place in self._places():
                if name in dir(place):
                    return getattr(place, name)
        raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name, obj=self)

    def _places(self) -> list[Any]:
        """The parts that are here."""
        places = []
        for wanted in self.__wanted__:
            here = self.__api__
            if wanted.endswith(":"):
                if not wanted.startswith("graph_api.") or here.__name__ == "graph_api":
                    places.append(import_module(wanted[:-1]))
                continue
            for part in filter(None, wanted.split(".")):
                here = getattr(here, part, None)
            if here is not None:
                places.append(here)
        return places

    def __dir__(self) -> list[str]:
        prefix = f"{self.__known__}."
        known = (name for name in (*INTERNALS, *modules()) if name.startswith(prefix))
        below = {name[len(prefix) :].partition(".")[0] for name in known}
        names = {n for place in self._places() for n in dir(place) if not n.startswith("_")}
        return sorted({*below, *names, *(f"_{n}" for n in names if self.__generated__)})
