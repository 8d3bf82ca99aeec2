"""What `explain` says of every op of the table agrees with the gradient, in both modes."""

from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from engine.core import nest
from engine.core.value import Value
from engine.explain import Explanation, explain
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.errors import UnimplementedError
from tests.op_table import FIRST_ORDER, ROWS, UNTESTED_RULES
from tests.row import Row

MODULES = sorted({row.op.module for row in ROWS})


def target(tf: Any, out: Any) -> Any:
    """A number that depends on every floating result; None if there is none."""
    floating = [o for o in nest.flatten(out) if isinstance(o, Value) and o.dtype.is_floating]
    return tf.add_n([tf.reduce_sum(tf.cast(o, tf.float64)) for o in floating]) if floating else None


def check(found: Explanation, gradient: Any, value: Any) -> None:
    assert found.connected == (gradient is not None), str(found)
    if gradient is None or gradient.dtype.kind != "f":
        return
    finite = bool(np.isfinite(gradient).all() and np.isfinite(value).all())
    assert found.code.startswith("nan") == (not finite), str(found)
    if finite and gradient.size:
        assert found.code.startswith("zero") == (not gradient.any()), str(found)


def arrays_of(row: Row) -> list[np.ndarray]:
    """Inputs in a dtype that the row takes."""
    return row.arrays("float64" if "float64" in row.dtypes else row.dtypes[0])


def on_tape(row: Row) -> None:
    tf = tape_api
    values = [tf.constant(a) for a in arrays_of(row)]
    floating = [x for x in values if x.dtype.is_floating]
    with tf.GradientTape(persistent=True, explain=True) as tape:
        tape.watch(floating)
        y = target(tf, row.apply(*values))
    for x in floating if y is not None else ():
        gradient = tape.gradient(y, x)
        gradient = tf.convert_to_tensor(gradient) if isinstance(gradient, IndexedSlices) else gradient
        check(explain(y, x, tape=tape), None if gradient is None else gradient.numpy(), y.numpy())


def in_graph(row: Row) -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        arrays = arrays_of(row)
        values = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        y = target(tf, row.apply(*values))
        feed = dict(zip(values, arrays, strict=True))
        for x in [v for v in values if v.dtype.is_floating] if y is not None else ():
            (gradient,) = tf.gradients(y, x)
            assert explain(y, x).connected == (gradient is not None)
            if gradient is not None and not row.op.stateful:
                dense, value = session.run([tf.convert_to_tensor(gradient), y], feed)
                check(explain(y, x, session=session, feed_dict=feed), dense, value)


@pytest.mark.filterwarnings("ignore:the gradient is None:engine.runtime.errors.UnconnectedWarning")
@pytest.mark.parametrize("module", MODULES)
def test_explanations_agree_with_gradients(module: str) -> None:
    wrong = []
    for row in [r for r in ROWS if r.op.module == module]:
        for mode in (on_tape, in_graph):
            try:
                mode(row)
            except UnimplementedError:
                refusing = {name for name, _ in UNTESTED_RULES}
                # `gradient` refuses, too
                assert row.order == 0 or row.op.name in FIRST_ORDER or row.op.name in refusing
            except Exception as error:  # noqa: BLE001
                wrong.append(f"{row.id} {mode.__name__}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, "\n".join(wrong)
