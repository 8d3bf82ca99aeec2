"""Rows of variables, of the updates of optimizers, of random numbers, and of what is run for its effect."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from engine.core.aval import Aval
from engine.core.variable import assign_variable, variable_handle, variable_is_initialized
from engine.runtime.errors import InvalidArgumentError
from graph_api import sampling
from graph_api.control_flow.flow import Print, assertion
from graph_api.graph_files.rows import ROWS, Made, Row, Site, row
from graph_api.library import root as tf
from optim import adadelta, adagrad, adam, ftrl, gradient_descent, momentum, rmsprop

# ---- variables -------------------------------------------------------------------------------------------------------


@row("Variable VariableV2 VarHandleOp")
def _variable(site: Site) -> Made:
    params = {"aval": Aval(site.attr("shape", None), site.attr("dtype")), "default": None}
    return site.graph.apply(variable_handle, (), params)


@row("ReadVariableOp", takes_handles=True)
def _read(site: Site) -> Made:
    return site.region.read(site.inputs[0])


@row("VariableShape", takes_handles=True)
def _variable_shape(site: Site) -> Made:
    return tf.shape(site.region.read(site.inputs[0]), out_type=site.attr("out_type", "int32"))


@row("IsVariableInitialized VarIsInitializedOp", takes_handles=True)
def _is_initialized(site: Site) -> Made:
    return site.graph.apply(variable_is_initialized, (site.inputs[0],), {})


def _assigned(site: Site, handle: Any, value: Any) -> Made:
    """An assignment; its result is the new value."""
    return site.graph.apply(assign_variable, (handle, value), {})


@row("Assign AssignVariableOp", takes_handles=True)
def _assign(site: Site) -> Made:
    return _assigned(site, *site.inputs)


@row("AssignAdd AssignAddVariableOp", takes_handles=True)
def _assign_add(site: Site) -> Made:
    handle, delta = site.inputs
    return _assigned(site, handle, site.region.read(handle) + delta)


@row("AssignSub AssignSubVariableOp", takes_handles=True)
def _assign_sub(site: Site) -> Made:
    handle, delta = site.inputs
    return _assigned(site, handle, site.region.read(handle) - delta)


def _scattering(change: Callable[[Any, Any, Any], Any]) -> Callable[[Site], Any]:
    """The row of an op that changes the rows of a variable at some indices."""

    def make(site: Site) -> Made:
        handle, indices, updates = site.inputs
        whole = site.region.read(handle)
        if updates.shape.ndims == 0:
            updates = tf.broadcast_to(updates, tf.concat([tf.shape(indices), tf.shape(whole)[1:]], 0))
        return _assigned(site, handle, change(whole, tf.expand_dims(indices, -1), updates))

    return make


def _scattering_rows() -> None:
    changes: dict[str, Any] = {
        "Add": tf.tensor_scatter_add,
        "Sub": tf.tensor_scatter_sub,
        "Update": tf.tensor_scatter_update,
        "Max": tf.tensor_scatter_nd_max,
        "Min": tf.tensor_scatter_nd_min,
    }
    for name, change in changes.items():
        for prefix in ("Scatter", "ResourceScatter"):
            ROWS[f"{prefix}{name}"] = Row(_scattering(change), takes_handles=True)
    for name in ("Add", "Sub", "Update"):
        for prefix in ("ScatterNd", "ResourceScatterNd"):
            make = _scattering_entries(changes[name])
            ROWS[f"{prefix}{name}"] = Row(make, takes_handles=True)


def _scattering_entries(change: Callable[[Any, Any, Any], Any]) -> Callable[[Site], Any]:
    def make(site: Site) -> Made:
        handle, indices, updates = site.inputs
        return _assigned(site, handle, change(site.region.read(handle), indices, updates))

    return make


_scattering_rows()


# ---- optimizers ------------------------------------------------------------------------------------------------------


def _update(rule: Callable[..., Any], slots: str, order: str, **fixed: Any) -> Callable[[Site], Any]:
    """The row of an op that updates a variable and its slots.

    Parameters
    ----------
    rule : callable
        ``rule(gradient, value, slots, hyper, state)``, of an optimizer.
    slots : str
        Names of the slots, whose handles follow the variable's.
    order : str
        Names of the inputs behind them: hyperparameters, ``grad``, and ``indices`` where only rows are updated.
    """
    slot_names, names = slots.split(), order.split()

    def make(site: Site) -> Made:
        handles = site.inputs[: 1 + len(slot_names)]
        rates = dict(zip(names, site.inputs[1 + len(slot_names) :], strict=True))
        rates |= {k: site.attr(v.removeprefix("@")) for k, v in fixed.items() if isinstance(v, str)}
        rates |= {k: v for k, v in fixed.items() if not isinstance(v, str)}
        gradient, indices = rates.pop("grad"), rates.pop("indices", None)
        whole = [site.region.read(h) for h in handles]
        parts = whole if indices is None else [tf.gather(x, indices) for x in whole]
        hyper = SimpleNamespace(**rates)
        value, new = rule(gradient, parts[0], dict(zip(slot_names, parts[1:], strict=True)), hyper, hyper)
        every = [value, *[new[slot] for slot in slot_names]]
        if indices is not None:
            at = tf.expand_dims(indices, -1)
            every = [tf.tensor_scatter_update(old, at, part) for old, part in zip(whole, every, strict=True)]
        slots_done = [_assigned(site, h, x) for h, x in zip(handles[1:], every[1:], strict=True)]
        with site.graph.control_dependencies(slots_done):
            return _assigned(site, handles[0], every[0])

    return make


def _adam(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> tuple[Any, ...]:
    return adam.adam_with_powers(gradient, value, slots, hyper, state, hyper.nesterov)


def _rmsprop(gradient: Any, value: Any, slots: Any, hyper: Any, state: Any) -> tuple[Any, ...]:
    return rmsprop.rmsprop(gradient, value, slots, hyper, state)


_L = "l1_regularization_strength l2_regularization_strength"
_FTRL = {"l2_shrinkage_regularization_strength": 0.0, "beta": 0.0}
_UPDATES: tuple[tuple[str, Any, str, str, dict[str, Any]], ...] = (
    ("GradientDescent", gradient_descent.gradient_descent, "", "learning_rate grad", {}),
    ("Momentum", momentum.momentum, "momentum", "learning_rate grad momentum", {"nesterov": "@use_nesterov"}),
    (
        "Adam", _adam, "m v", "beta1_power beta2_power learning_rate beta_1 beta_2 epsilon grad",
        {"nesterov": "@use_nesterov", "amsgrad": False},
    ),
    ("Adagrad", adagrad.adagrad, "accumulator", "learning_rate grad", {"epsilon": 0.0}),
    ("AdagradV2", adagrad.adagrad, "accumulator", "learning_rate epsilon grad", {}),
    ("Adadelta", adadelta.adadelta, "accum accum_update", "learning_rate rho epsilon grad", {}),
    ("RMSProp", _rmsprop, "rms momentum", "learning_rate rho momentum epsilon grad", {"centered": False}),
    ("CenteredRMSProp", _rmsprop, "mg rms momentum", "learning_rate rho momentum epsilon grad", {"centered": True}),
    ("Ftrl", ftrl.ftrl, "accum linear", f"grad learning_rate {_L} learning_rate_power", _FTRL),
    (
        "FtrlV2", ftrl.ftrl, "accum linear",
        f"grad learning_rate {_L} l2_shrinkage_regularization_strength learning_rate_power", {"beta": 0.0},
    ),
)  # fmt: skip
for _name, _rule, _slots, _order, _fixed in _UPDATES:
    _whole = Row(_update(_rule, _slots, _order, **_fixed), takes_handles=True)
    _rows = Row(_update(_rule, _slots, _order.replace("grad", "grad indices"), **_fixed), takes_handles=True)
    for _prefix in ("", "Resource"):
        ROWS[f"{_prefix}Apply{_name}"] = _whole
        ROWS[f"{_prefix}SparseApply{_name}"] = _rows


# ---- random numbers --------------------------------------------------------------------------------------------------


def _drawing(draw: Callable[[Site, int | None], Any]) -> Callable[[Site], Any]:
    """The row of a random op; its stream is named by the seeds in the file."""

    def make(site: Site) -> Made:
        graph = site.graph
        seeds = site.attr("seed", 0), site.attr("seed2", 0)
        before = graph.seed
        try:
            if any(seeds):
                graph.seed = seeds[0]
            return draw(site, seeds[1] if any(seeds) else None)
        finally:
            graph.seed = before

    return make


def _random_rows() -> None:
    draws: dict[str, Callable[[Site, int | None], Any]] = {
        "RandomUniform": lambda s, seed: sampling.uniform(s.inputs[0], dtype=s.attr("dtype"), seed=seed),
        "RandomUniformInt": lambda s, seed: sampling.uniform(
            s.inputs[0], s.inputs[1], s.inputs[2], s.inputs[1].dtype, seed=seed
        ),
        "RandomStandardNormal": lambda s, seed: sampling.normal(s.inputs[0], dtype=s.attr("dtype"), seed=seed),
        "TruncatedNormal": lambda s, seed: sampling.truncated_normal(s.inputs[0], dtype=s.attr("dtype"), seed=seed),
        "Multinomial": lambda s, seed: sampling.multinomial(
            s.inputs[0], s.inputs[1], seed=seed, output_dtype=s.attr("output_dtype", "int64")
        ),
        "RandomShuffle": lambda s, seed: sampling.shuffle(s.inputs[0], seed=seed),
        "RandomGamma": lambda s, seed: sampling.gamma(
            s.inputs[0], s.inputs[1], dtype=s.inputs[1].dtype, seed=seed
        ),
        "RandomPoissonV2": lambda s, seed: sampling.poisson(
            s.inputs[1], s.inputs[0], s.attr("dtype", "int64"), seed=seed
        ),
    }  # fmt: skip
    for name, draw in draws.items():
        ROWS[name] = Row(_drawing(draw))


_random_rows()


# ---- effects ---------------------------------------------------------------------------------------------------------


@row("Print")
def _print(site: Site) -> Made:
    if site.attr("first_n", -1) >= 0:
        raise InvalidArgumentError("its attribute `first_n` is not supported")
    x, *data = site.inputs
    return Print(x, data, site.attr("message", ""), summarize=site.attr("summarize", 3))


@row("Assert")
def _assert(site: Site) -> Made:
    condition, *data = site.inputs
    return assertion(condition, data, "", "Assert")


# ---- summaries -------------------------------------------------------------------------------------------------------


@row("ScalarSummary HistogramSummary ImageSummary")
def _summary(site: Site) -> Made:
    from graph_api import summaries

    tag, value = site.text(0, "tag"), site.inputs[1]
    if site.proto.op == "ImageSummary":
        return summaries.tagged("image", tag, value, site.attr("max_images", 3))
    return summaries.tagged(site.proto.op.removesuffix("Summary").lower(), tag, value)


@row("MergeSummary")
def _merge_summary(site: Site) -> Made:
    from graph_api import summaries

    return summaries.merge(site.inputs, collections=[])
