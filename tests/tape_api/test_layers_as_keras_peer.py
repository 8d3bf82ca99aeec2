"""Every layer of the installed Keras that we have, with each of its options, trained for a few steps beside ours."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api
from tests import keras_page
from tests.tape_api.test_as_keras import Listed, Twice
from tests.tape_api.test_as_keras_peer import keras, tensorflow

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

STEPS = 3
RNG = np.random.default_rng(0)
ROWS, SERIES, IMAGES, BLOCKS = (
    RNG.normal(size=s).astype(np.float32) for s in ((4, 6), (3, 8, 6), (2, 8, 9, 4), (2, 5, 6, 7, 4))
)
ELSEWHERE = {
    *("Bidirectional", "InputLayer", "Lambda", "Layer", "RNN", "StackedRNNCells", "StringLookup"),
    *("TextVectorization", "TimeDistributed", "Wrapper"),
}
"""Layers made of others or of words, and the bases of all."""
NEEDED, VALUES = json.loads(Path(__file__).with_name("layer_options.json").read_text()).values()
OTHERWISE = {
    ("SimpleRNN", "activity_regularizer"): "Keras takes it and forgets it",
    ("MultiHeadAttention", "bias_regularizer"): "the derivative by the keys' bias is rounding, whose sign counts",
}


def needed(name: str) -> dict[str, Any]:
    """What a layer must be given: of the longest beginning of its name."""
    return NEEDED[max((n for n in NEEDED if name.startswith(n)), key=len)] if name.startswith((*NEEDED,)) else {}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    ours, met = dir(tape_api.keras.layers), set()
    for name, kind in vars(keras.layers).items():
        if name in ours and inspect.isclass(kind) and name not in ELSEWHERE | met and issubclass(kind, keras.Layer):
            met |= {n for n, other in vars(keras.layers).items() if other is kind}
            if name.startswith("Random") or name.endswith("Cell"):
                continue
            yield name, {}
            for option in [*inspect.signature(kind.__init__).parameters, "dtype"]:
                yield from (
                    (name, {option: value}) for value in VALUES.get(option, ()) if (name, option) not in OTHERWISE
                )


def given(name: str) -> Any:
    if name in ("LSTM", "GRU", "SimpleRNN", "Permute", "Masking", "MultiHeadAttention", "Attention") or "1D" in name:
        return SERIES
    if name == "Embedding":
        return np.arange(24).reshape(4, 6) % 5
    if "3D" in name:
        return BLOCKS
    of_images = ("2D", "Resizing", "Rescaling", "Normalization", "PReLU", "Softmax")
    return IMAGES if name.endswith(of_images) and name != "Normalization" else ROWS


MERGED = ("Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract")


def trained(tf: Any, layer: Any, optimizer: Any, x: Any) -> list[Any]:
    """Outputs, losses, derivatives and weights of some steps."""
    call = Twice(layer) if type(layer).__name__ == "MultiHeadAttention" else layer
    if type(layer).__name__ in (*MERGED, "Attention", "AdditiveAttention"):
        call = Listed(layer)
    told = {"training": True} if "training" in inspect.signature(layer.call).parameters else {}
    if "Drop" in type(layer).__name__ or "Noise" in type(layer).__name__:
        told = {"training": False}
    told = {"training": True} if isinstance(call, Twice) and not told else told
    found: list[Any] = []
    for _ in range(STEPS):
        inputs = tf.constant(x)
        with tf.GradientTape() as tape:
            if inputs.dtype.is_floating:
                tape.watch(inputs)
            outputs = tf.nest.flatten(call(inputs, **told))
            loss = sum(0.01 * tf.reduce_sum(tf.cast(y, tf.float32) ** 2) for y in outputs)
            loss = loss + sum(tf.cast(extra, tf.float32) for extra in layer.losses)
        variables = [getattr(v, "value", v) if tf is tensorflow else v for v in layer.trainable_variables]
        sources = [inputs] if inputs.dtype.is_floating else []
        gradients = tape.gradient(loss, [*sources, *variables])
        pairs = zip(gradients[len(sources) :], layer.trainable_variables, strict=True)
        if pairs := [pair for pair in pairs if pair[0] is not None]:
            optimizer.apply_gradients(pairs)
        dense = [None if g is None else np.asarray(tf.convert_to_tensor(g)) for g in gradients]
        found += [*(np.asarray(y) for y in outputs), np.asarray(loss), *dense]
    return [*found, *layer.get_weights()]


@pytest.mark.parametrize(("name", "options"), list(cases()), ids=str)
def test_layers(name: str, options: dict[str, Any]) -> None:
    x, made = given(name), []
    for layers in (keras.layers, tape_api.keras.layers):
        try:
            layer = getattr(layers, name)(**{**needed(name), **options})
            trained(tape_api if layers is tape_api.keras.layers else tensorflow, layer, Still(), x)
            made.append(layer)
        except Exception as error:  # noqa: BLE001 - which one is looked at below
            made.append(error)
    theirs, ours = made
    if isinstance(theirs, Exception):
        return  # what Keras refuses need not be refused here
    if isinstance(ours, NotImplementedError):
        return  # it says that it is not here
    assert not isinstance(ours, Exception), ours
    ours.set_weights(theirs.get_weights())
    wanted = trained(tensorflow, theirs, keras.optimizers.SGD(0.05), x)
    got = trained(tape_api, ours, tape_api.keras.optimizers.SGD(0.05), x)
    for a, b in zip(got, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


class Still:
    """An optimizer that does nothing."""

    def apply_gradients(self, pairs: Any) -> None:
        del pairs


def test_the_page_of_what_is_not_here_is_that_of_the_installed_keras() -> None:
    text = (Path(__file__).parents[2] / "docs" / "keras.md").read_text()
    assert text == keras_page.page(keras), "run python -m tests.keras_page > docs/keras.md"
    with pytest.raises(AttributeError, match=r"docs/keras\.md lists what Keras has"):
        _ = tape_api.keras.optimizers.Muon
