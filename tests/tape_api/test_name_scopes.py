"""Names of variables in scopes, modules' own scopes, and functions that decorate."""

import threading

import numpy as np
import pytest

import tape_api as tf
from tests.tapes import gradient_in


class Line(tf.Module):
    """Makes its variable when it is first called."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)
        with self.name_scope:
            self.b = tf.Variable(1.0, name="b")
            self.inner = tf.Module(name="inner")

    @tf.Module.with_name_scope
    def __call__(self, x: float) -> tf.Tensor:
        """``w * x + b``."""
        if not hasattr(self, "w"):
            self.w = tf.Variable(2.0, name="w")
        return self.w * x + self.b


def test_scopes_add_up_end_and_are_left() -> None:
    with tf.name_scope("a") as a, tf.name_scope("b") as b:
        assert (a, b, tf.Variable(0.0, name="v").name) == ("a/", "a/b/", "a/b/v:0")
        with tf.name_scope(a):
            assert tf.Variable(0.0).name == "a/Variable:0"
        with tf.name_scope("") as none:
            assert (none, tf.Variable(0.0, name="v").name) == ("", "v:0")
    with pytest.raises(ZeroDivisionError), tf.name_scope("c"):
        raise ZeroDivisionError
    assert tf.Variable(0.0, name="v").name == "v:0"
    with pytest.raises(ValueError, match=r"must be a string"):
        tf.name_scope(None)
    with tf.compat.v1.name_scope(None, "default", [1.0]) as scope:
        assert scope == "default/"


def test_threads_have_scopes_of_their_own() -> None:
    names = []
    with tf.name_scope("a"):
        thread = threading.Thread(target=lambda: names.append(tf.Variable(0.0, name="v").name))
        thread.start()
        thread.join()
    assert names == ["v:0"]


def test_a_module_has_a_scope() -> None:
    with tf.name_scope("net"):
        line = Line(name="first")
    assert float(line(3.0)) == 7.0
    assert [v.name for v in line.trainable_variables] == ["net/first/b:0", "net/first/w:0"]
    assert (line.name, line.name_scope.name, line.inner.name_scope.name) == (
        "first", "net/first/", "net/first/inner/",
    )  # fmt: skip


def test_slots_of_optimizers_are_in_no_scope() -> None:
    v = tf.Variable(1.0, name="v")
    optimizer = tf.keras.optimizers.Adam()
    with tf.name_scope("step"):
        optimizer.apply_gradients([(tf.constant(1.0), v)])
    assert not [s.name for s in optimizer.variables if s.name.startswith("step/")]


def test_functions_that_decorate() -> None:
    @tf.numpy_function(Tout=[tf.float32, tf.int32])
    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert isinstance(x, np.ndarray)
        return (x / 2).astype(np.float32), np.array(len(x), np.int32)

    @tf.py_function(Tout=tf.float32)
    def squared(x: tf.Tensor) -> tf.Tensor:
        return x * x

    half, count = halves(tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(half, [0.5, 1.0])
    assert int(count) == 2 and count.dtype is tf.int32
    x = tf.constant(3.0)
    assert float(gradient_in(x, lambda: squared(x))) == 6.0


@pytest.mark.peer
def test_names_are_tensorflows() -> None:
    theirs = pytest.importorskip("tensorflow")

    def names(tf: object) -> list[str]:
        class Net(tf.Module):  # type: ignore[name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.w = tf.Variable(0.0, name="w")
                with self.name_scope:
                    self.v = tf.Variable(0.0, name="v")

        with tf.name_scope("a"), tf.name_scope("b") as b:
            net = Net()
            with tf.name_scope("c/"):
                loose = tf.Variable(0.0)
        return [b, loose.name, net.name_scope.name, *(v.name for v in net.variables)]

    assert names(tf) == names(theirs)
