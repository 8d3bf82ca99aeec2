"""`make_template`, custom getters of variables, `switch_case`: the same as in TensorFlow."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graph_api
from engine.runtime.errors import DTypeError


def names(tf: Any) -> list[str]:
    return [v.name for v in tf.global_variables()]


def template(tf: Any) -> list[Any]:
    """Variables of templates: shared by calls, of scopes made unique, made now or later."""
    x = tf.constant([[1.0, 2.0]])

    def layer(x: Any, scale: float, width: int = 2) -> Any:
        w = tf.get_variable("w", [2, width], initializer=tf.ones_initializer())
        return scale * tf.matmul(x, w)

    with tf.variable_scope("net"):
        one = tf.make_template("layer", layer, scale=2.0)
        two = tf.make_template("layer", layer, create_scope_now_=True, scale=3.0, width=1)
        before = names(tf)
        results = [one(x), one(x, scale=1.0), two(x)]
    outside = one(x)
    with tf.variable_scope("other"):
        third = tf.make_template("layer", layer, unique_name_="chosen", scale=1.0)
        results += [third(x), outside]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run(results)
    return [before, names(tf), [v.name for v in one.variables], one.variable_scope.name, *values]


def getters(tf: Any) -> list[Any]:
    """Getters of scopes and of single variables, one inside another."""
    told: list[Any] = []

    def noting(label: str) -> Callable[..., Any]:
        def getter(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            told.append([label, name, kwargs["shape"], kwargs["trainable"], kwargs["reuse"]])
            return getter(name, *args, **kwargs)

        return getter

    def negated(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return -getter(*args, **kwargs)

    one = tf.ones_initializer()
    with tf.variable_scope("a", custom_getter=noting("outer")):
        first = tf.get_variable("x", [2], initializer=one)
        with tf.variable_scope("b", custom_getter=negated):
            second = tf.get_variable("x", [2], initializer=one, trainable=False)
            third = tf.get_variable("y", [], initializer=one, custom_getter=noting("own"))
    with tf.variable_scope("a", reuse=True):
        again = tf.get_variable("x", [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([first, second, third, again])
    return [told, names(tf), *values]


def averages(tf: Any) -> list[Any]:
    """A target network whose variables are averages of another's, as actor and critic programs have it."""
    average = tf.train.ExponentialMovingAverage(0.5)

    def net(custom_getter: Any = None, reuse: Any = None) -> Any:
        with tf.variable_scope("net", reuse=reuse, custom_getter=custom_getter):
            return 2.0 * tf.get_variable("w", [], initializer=tf.constant_initializer(1.0))

    y = net()
    (w,) = tf.trainable_variables()
    follow = average.apply([w])

    def averaged(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        return average.average(getter(name, *args, **kwargs))

    target = net(averaged, reuse=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign(3.0))
        session.run(follow)
        return session.run([y, target])


def switches(tf: Any) -> list[Any]:
    """Branches chosen by an index: values and gradients, with and without a default."""
    i, x = tf.placeholder(tf.int32, []), tf.constant(3.0)
    listed = tf.switch_case(i, [lambda: x, lambda: x * x, lambda: tf.sin(x)])
    numbered = tf.switch_case(i, {1: lambda: x, 0: lambda: x**3}, default=lambda: -x)
    paired = tf.switch_case(i, [(1, lambda: [x, x + 1.0]), (0, lambda: [x * 2.0, x])])
    single = tf.switch_case(i, [lambda: x * 7.0])
    gradients = [tf.gradients(y, x)[0] for y in (listed, numbered, paired[0], single)]
    with tf.Session() as session:
        return [
            v for k in (-1, 0, 1, 2, 5) for v in session.run([listed, numbered, *paired, single, gradients], {i: k})
        ]


PROGRAMS: dict[str, Callable[[Any], list[Any]]] = {f.__name__: f for f in (template, getters, averages, switches)}


def run(tf: Any, name: str) -> list[Any]:
    with tf.Graph().as_default():
        return PROGRAMS[name](tf)


def plain(x: Any) -> Any:
    return np.asarray(x).tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def test_templates() -> None:
    found = run(graph_api, "template")
    assert found[1] == ["net/layer_1/w:0", "net/layer/w:0", "other/chosen/w:0"]
    assert [plain(v) for v in found[4:]] == [[[6.0, 6.0]], [[3.0, 3.0]], [[9.0]], [[3.0, 3.0]], [[6.0, 6.0]]]


def test_getters() -> None:
    told, made, *values = run(graph_api, "getters")
    assert [t[:2] for t in told] == [["outer", "a/x"], ["outer", "a/b/x"], ["own", "a/b/y"]]
    assert made == ["a/x:0", "a/b/x:0", "a/b/y:0"]
    assert [plain(v) for v in values] == [[1.0, 1.0], [-1.0, -1.0], 1.0, [1.0, 1.0]]


def test_averages() -> None:
    assert [plain(v) for v in run(graph_api, "averages")] == [6.0, 4.0]


def test_only_the_chosen_branch_runs() -> None:
    tf = graph_api
    with tf.Graph().as_default(), tf.Session() as session:
        i, ran = tf.placeholder(tf.int32, []), []
        y = tf.switch_case(
            i, [lambda k=k: tf.py_func(lambda: ran.append(k) or np.float32(k), [], tf.float32) for k in range(3)]
        )
        assert session.run(y, {i: 1}) == 1.0
    assert ran == [1]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_tensorflow(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        v1 = pytest.importorskip("tensorflow").compat.v1
    ours, theirs = run(graph_api, name), run(v1, name)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, (str, list)) and not isinstance(a, list):
            assert a == b
        elif isinstance(b, list) and b and isinstance(b[0], (str, list)):
            assert [str(x) for x in a] == [str(x) for x in b]
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_what_is_refused() -> None:
    tf = graph_api
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(DTypeError, match="integer"):
            tf.switch_case(x, [lambda: x])
        with pytest.raises(ValueError, match="contiguous"):
            tf.switch_case(0, [])
        with pytest.raises(TypeError, match="callable"):
            tf.switch_case(0, [x])
        growing = tf.make_template("growing", lambda n: tf.Variable(1.0) if n else None)
        growing(0)
        with pytest.raises(ValueError, match="after the first time"):
            growing(1)
        for make in (
            lambda **how: tf.get_variable("x", [2], **how),
            lambda **how: tf.variable_scope("y", **how).__enter__(),
        ):
            with pytest.raises(NotImplementedError, match="variables in parts are out of scope"):
                make(partitioner=lambda **_: [1])
