"""Model files of strangers: what they name is looked up, never imported, and nothing they say runs."""

import base64
import contextlib
import json
import marshal
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tape_api as tf
from dualgrad.keras.configs import REGISTERED
from engine.runtime.errors import DataLossError, InvalidArgumentError
from tape_api import keras
from tape_api.keras import layers


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that is there if something ran."""
    return tmp_path / "ran"


def planted(mark: Path) -> list[dict[str, Any]]:
    """Configurations that want a file to be made, in many ways."""
    code = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    bytecode = base64.b64encode(marshal.dumps(compile(code, "<evil>", "exec"))).decode()
    named = [
        ("os", "system", {"command": f"touch {mark}"}),
        ("subprocess", "check_call", {"args": ["touch", str(mark)]}),
        ("subprocess", "Popen", {"args": ["touch", str(mark)]}),
        ("builtins", "exec", {"source": code}),
        ("builtins", "eval", {"source": f"__import__('pathlib').Path({str(mark)!r}).touch()"}),
        ("pathlib", "Path.touch", {"self": str(mark)}),
        ("numpy", "save", {"file": str(mark), "arr": [1]}),
        ("keras.models", "save_model", {"model": None, "filepath": str(mark)}),
        ("keras.utils", "get_file", {"origin": f"file://{mark.parent}/source", "fname": str(mark)}),
        ("tape_api.keras.models", "save_model", {"model": None, "filepath": str(mark)}),
        ("tape_api.files.model_files", "files.write", {"path": str(mark), "parts": []}),
        ("dualgrad.files.atomic", "write", {"path": str(mark), "parts": []}),
        ("dualgrad.files", "files", {}),
        ("evil_module_beside", "Thing", {}),
        ("keras.layers", "evil_module_beside", {}),
    ]
    found: list[dict[str, Any]] = [
        {"module": m, "class_name": c, "config": k, "registered_name": (None, f"{m}>{c}", "Dense")[i % 3]}
        for i, (m, c, k) in enumerate(named)
    ]
    found += [{"module": m, "class_name": "function", "config": c, "registered_name": "function"} for m, c, _ in named]
    lambdas = {"code": bytecode, "defaults": None, "closure": None}
    found += [
        {"class_name": "__lambda__", "config": {"value": lambdas}},
        {"class_name": "__typespec__", "spec_name": "Thing", "module": "evil_module_beside", "config": {}},
        {"class_name": "__numpy__", "config": {"value": bytecode, "dtype": "object"}},
        {"class_name": "__tensor__", "config": {"value": bytecode, "dtype": "object"}},
        {"class_name": ["os", "system"], "module": ["os"], "config": {"command": f"touch {mark}"}},
        {"class_name": "Lambda", "module": "keras.layers", "config": {"function": [bytecode, None, None]}},
        {"class_name": "Lambda", "module": "keras.layers", "config": {"function": "system", "module": "os"}},
        {
            "class_name": "Lambda",
            "module": "keras.layers",
            "config": {"function": {"class_name": "__lambda__", "config": lambdas}, "name": "l"},
        },
    ]
    return found


def around(evil: Any) -> list[dict[str, Any]]:
    """Models and layers that hold it somewhere inside."""
    dense = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 2, "kernel_initializer": evil}}
    inputs = {
        "module": "keras.layers",
        "class_name": "InputLayer",
        "config": {"batch_shape": [None, 3], "name": "i"},
        "name": "i",
        "inbound_nodes": [],
    }
    place = {"class_name": "__keras_tensor__", "config": {"keras_history": ["i", 0, 0]}}
    called = {**dense, "name": "d", "inbound_nodes": [{"args": [place], "kwargs": {"x": evil}}]}
    functional = {"layers": [inputs, called], "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}
    optimizer = {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": evil}}
    return [
        evil,
        dense,
        {"module": "keras", "class_name": "Sequential", "config": {"layers": [evil]}},
        {"module": "keras", "class_name": "Sequential", "config": {"layers": [dense], "build_input_shape": [None, 3]}},
        {"module": "keras", "class_name": "Functional", "config": functional},
        {"module": "keras.layers", "class_name": "Bidirectional", "config": {"layer": evil}},
        {"module": "keras.layers", "class_name": "RNN", "config": {"cell": evil}},
        {"module": "mine", "class_name": "mine", "registered_name": "mine", "config": evil},
        optimizer,
    ]


@pytest.mark.parametrize("front_end", ["tape_api", "graph_api"])
def test_nothing_runs_that_a_configuration_names(
    front_end: str, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_module_beside.py").write_text(f"import pathlib; pathlib.Path({str(mark)!r}).touch()")
    (tmp_path / "source").write_text("x")
    monkeypatch.syspath_prepend(tmp_path)
    k = __import__(front_end).keras
    takers: list[Callable[[Any], Any]] = [
        k.optimizers.get,
        k.losses.get,
        k.initializers.get,
        k.metrics.get,
        k.regularizers.get,
        k.constraints.get,
        k.activations.get,
        lambda e: k.layers.Dense(3, kernel_initializer=e, input_shape=(2,)),
        lambda e: k.layers.Dense(3, activation=e)(tf.ones((2, 2))),
        lambda e: k.layers.Dense.from_config({"units": 3, "kernel_regularizer": e}),
        lambda e: k.Sequential.from_config({"layers": [e]}),
        lambda e: k.optimizers.SGD.from_config({"learning_rate": e}),
        lambda e: k.layers.Lambda.from_config({"name": "l", "function": e})(tf.ones((2, 2))),
    ]
    if front_end == "tape_api":
        takers.append(lambda e: k.models.model_from_json(json.dumps(e)))
        takers.append(lambda e: k.models.model_from_config(e))
    for evil in planted(mark):
        for config in around(evil):
            for take in takers:
                with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, NotImplementedError):
                    take(config)
                assert not mark.exists(), config
    assert "evil_module_beside" not in sys.modules


@pytest.mark.filterwarnings("ignore:load_model. the model is not compiled")
@pytest.mark.parametrize("safe_mode", [True, False])
def test_nothing_runs_that_a_file_names(safe_mode: bool, mark: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    good = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    good.compile("sgd", "mse")
    good.save(tmp_path / "m.keras")
    good.save(tmp_path / "m.h5")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    whole = json.loads(held["config.json"])
    for k, evil in enumerate(planted(mark)):
        plain = {"optimizer": "sgd", "loss": "mse"}
        compiled = [{**whole, "compile_config": {**plain, key: evil}} for key in ("loss", "optimizer", "metrics")]
        # what is around it is read by one function for both kinds of files: they take turns
        written = [(config, ("e.keras", "m.h5")[(i + k) % 2]) for i, config in enumerate(around(evil))]
        for config, name in (*written, *((config, "e.keras") for config in compiled), (whole, "m.h5")):
            if name == "e.keras":
                with zipfile.ZipFile(tmp_path / name, "w") as archive:
                    for part, data in {**held, "config.json": json.dumps(config).encode()}.items():
                        archive.writestr(part, data)
            else:
                with h5py.File(tmp_path / name, "r+") as file:
                    trained = {"optimizer_config": evil, "loss": evil, "metrics": [evil]}
                    file.attrs["model_config"] = json.dumps(config)
                    file.attrs["training_config"] = json.dumps(trained)
            with contextlib.suppress(DataLossError, InvalidArgumentError):
                keras.models.load_model(tmp_path / name, safe_mode=safe_mode)
            assert not mark.exists(), config


def test_an_unknown_class_says_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"Could not locate class 'Thing'.*register_keras_.*custom_objects"):
        keras.models.model_from_json(json.dumps({"module": "evil", "class_name": "Thing", "config": {}}))


def double(x: Any) -> Any:
    return 2.0 * x


def test_lambda_layers(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = keras.Sequential([layers.Lambda(double, input_shape=(3,), name="twice"), layers.Dense(1)])
    x = np.ones((2, 3), np.float32)
    model.save(tmp_path / "m.keras")
    with pytest.raises(DataLossError, match=r"m\.keras.*custom_objects=\{'twice': function\}"):
        keras.models.load_model(tmp_path / "m.keras", safe_mode=False)
    for objects in ({"double": double}, {"twice": double}):
        again = keras.models.load_model(tmp_path / "m.keras", custom_objects=objects)
        np.testing.assert_array_equal(again(x), model(x))
    keras.utils.register_keras_serializable("tests")(double)
    try:
        model.save(tmp_path / "m.keras")
        np.testing.assert_array_equal(keras.models.load_model(tmp_path / "m.keras")(x), model(x))
    finally:
        del REGISTERED["tests>double"]
    anonymous = layers.Lambda(lambda x: x + 1)
    assert type(anonymous).from_config(anonymous.get_config()).function is anonymous.function


def test_copies_within_a_process_need_no_names() -> None:
    class Own(layers.LSTMCell):
        pass

    inner = layers.Bidirectional(layers.RNN(Own(2)), input_shape=(4, 3))
    model = keras.Sequential([inner, layers.Dense(1)])
    x = np.ones((2, 4, 3), np.float32)
    for again in (keras.models.clone_model(model), keras.Sequential.from_config(model.get_config())):
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(again(x), model(x))
    with pytest.raises(ValueError, match="Could not locate class 'Own'"):
        keras.Sequential.from_config(json.loads(json.dumps(model.get_config())))


def test_configurations_of_keras_find_our_classes() -> None:
    for module in (None, "keras.initializers", "tape_api.keras.initializers"):
        found = keras.initializers.get({"module": module, "class_name": "Constant", "config": {"value": 3.0}})
        assert float(found((1,))[0]) == 3.0
    relu = {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}
    assert float(layers.Dense(1, activation=relu).activation(-1.0)) == 0.0
    rate = {"module": "keras.optimizers.schedules", "class_name": "ExponentialDecay"}
    rate["config"] = {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 0.5}  # type: ignore[assignment]
    made = keras.optimizers.get({"class_name": "SGD", "config": {"learning_rate": rate}})
    assert made.get_config()["learning_rate"]["config"]["initial_learning_rate"] == 0.5


def test_a_text_makes_no_model_without_a_limit() -> None:
    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    with pytest.raises(DataLossError, match=r"model_from_json: the text.*DUALGRAD_READ_LIMIT"):
        keras.models.model_from_json(model.to_json().replace('"units": 1', f'"units": {1 << 40}'))


def test_a_saved_model_names_only_keras() -> None:
    start, most = keras.initializers.Constant(3.0), keras.constraints.MaxNorm(2.0)
    model = keras.Sequential([layers.Dense(1, kernel_initializer=start, kernel_constraint=most, input_shape=(2,))])
    text = model.to_json()
    assert '"engine.' not in text
    assert '"tape_api.' not in text
    for again in (
        keras.models.model_from_json(text),
        keras.Sequential.from_config(json.loads(json.dumps(model.get_config()))),
    ):
        assert again.get_weights()[0].tolist() == [[3.0], [3.0]]
        assert again.to_json() == text
