"""``train.Saver``: what it saves under which names, which checkpoints it keeps, what it refuses."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import graph_api as tf


def two(sess: tf.Session) -> tuple[tf.Variable, tf.Variable]:
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.variable_scope("layer"):
        b = tf.get_variable("b", initializer=np.float64(3.0))
    sess.run(tf.global_variables_initializer())
    return w, b


def test_variables_come_back(sess: tf.Session, tmp_path: Path) -> None:
    w, b = two(sess)
    saver = tf.train.Saver()
    path = saver.save(sess, str(tmp_path / "m"))
    assert path == str(tmp_path / "m")
    assert tf.train.list_variables(path) == [("layer/b", []), ("w", [2])]
    sess.run([w.assign([0.0, 0.0]), b.assign(0.0)])
    saver.restore(sess, path)
    assert sess.run(w).tolist() == [1.0, 2.0]
    assert sess.run(b) == 3.0
    assert type(sess.run(b)) is np.float64
    sess.run(w.assign_add([1.0, 1.0]))
    assert sess.run(w).tolist() == [2.0, 3.0]
    assert tf.train.load_variable(path, "w").tolist() == [1.0, 2.0]


def test_restoring_initializes(sess: tf.Session, tmp_path: Path) -> None:
    w, _ = two(sess)
    saver = tf.train.Saver()
    saver.save(sess, str(tmp_path / "m"))
    with tf.Session() as other:
        saver.restore(other, str(tmp_path / "m"))
        assert other.run(w).tolist() == [1.0, 2.0]
        assert other.run(tf.report_uninitialized_variables()).tolist() == []


def test_names_can_be_given(sess: tf.Session, tmp_path: Path) -> None:
    w, b = two(sess)
    tf.train.Saver({"one": w, "other": b}).save(sess, str(tmp_path / "m"))
    assert [n for n, _ in tf.train.list_variables(str(tmp_path / "m"))] == ["one", "other"]
    tf.train.Saver([w]).save(sess, str(tmp_path / "n"))
    assert tf.train.list_variables(str(tmp_path / "n")) == [("w", [2])]
    with pytest.raises(ValueError, match="same name: w"):
        tf.train.Saver([w, w])
    with pytest.raises(TypeError, match="not a Variable"):
        tf.train.Saver([w + 1.0])


def test_without_variables_there_is_nothing_to_save(sess: tf.Session, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No variables to save"):
        tf.train.Saver()
    assert tf.train.Saver(allow_empty=True).save(sess, str(tmp_path / "m")) is None
    deferred = tf.train.Saver(defer_build=True)
    with pytest.raises(RuntimeError, match="defer_build"):
        deferred.save(sess, str(tmp_path / "m"))
    two(sess)
    deferred.build()
    assert deferred.save(sess, str(tmp_path / "m"))


def test_steps_number_the_files_and_old_ones_go(sess: tf.Session, tmp_path: Path) -> None:
    two(sess)
    step = tf.train.get_or_create_global_step()
    sess.run(step.initializer)
    saver = tf.train.Saver(max_to_keep=2)
    paths = []
    for _ in range(4):
        sess.run(step.assign_add(1))
        paths.append(saver.save(sess, str(tmp_path / "m"), global_step=step, write_meta_graph=False))
    assert paths == [str(tmp_path / f"m-{i}") for i in (1, 2, 3, 4)]
    assert saver.last_checkpoints == paths[2:]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[3]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert (state.model_checkpoint_path, state.all_model_checkpoint_paths) == (paths[3], paths[2:])
    ends = (".data-00000-of-00001", ".index")
    assert sorted(os.listdir(tmp_path)) == sorted(["checkpoint", *[f"m-{i}{end}" for i in (3, 4) for end in ends]])
    again = tf.train.Saver(max_to_keep=2, pad_step_number=True)
    again.recover_last_checkpoints(state.all_model_checkpoint_paths)
    assert again.save(sess, str(tmp_path / "m"), global_step=9, write_meta_graph=False) == str(tmp_path / "m-00000009")
    assert not tf.train.checkpoint_exists(paths[2])


@pytest.mark.parametrize("keep", [None, 0])
def test_all_are_kept(sess: tf.Session, tmp_path: Path, keep: int | None) -> None:
    two(sess)
    saver = tf.train.Saver(max_to_keep=keep)
    for i in range(7):
        saver.save(sess, str(tmp_path / "m"), global_step=i)
    assert all(tf.train.checkpoint_exists(str(tmp_path / f"m-{i}")) for i in range(7))


def test_one_in_so_many_hours_stays(sess: tf.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two(sess)
    now = time.time()
    monkeypatch.setattr("dualgrad.files.saver.time.time", lambda: now)
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
    for i in range(6):
        saver.save(sess, str(tmp_path / "m"), global_step=i, write_meta_graph=False)
        now += 1500
    assert [i for i in range(6) if tf.train.checkpoint_exists(str(tmp_path / f"m-{i}"))] == [3, 5]


def test_what_is_missing_or_does_not_fit_is_refused_and_nothing_changes(sess: tf.Session, tmp_path: Path) -> None:
    w, b = two(sess)
    path = tf.train.Saver([b]).save(sess, str(tmp_path / "m"))
    other = tf.train.Saver({"layer/b": b, "w": w})
    sess.run(b.assign(7.0))
    with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
        other.restore(sess, path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype float32 does not equal original dtype"):
        tf.train.Saver({"layer/b": tf.Variable(1.0)}).restore(sess, path)
    path = tf.train.Saver({"w": b, "layer/b": b}).save(sess, str(tmp_path / "n"))
    wide = tf.Variable(np.zeros(3), name="wide")
    sess.run(wide.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \(3,\) rhs shape= \(\)"):
        tf.train.Saver({"layer/b": b, "w": wide}).restore(sess, path)
    assert sess.run(b) == 7.0
    file = tmp_path / "n.data-00000-of-00001"
    file.write_bytes(file.read_bytes()[:-1] + b"\x55")
    with pytest.raises(tf.errors.DataLossError, match="checksum of tensor 'w'"):
        tf.train.Saver({"w": b}).restore(sess, path)
    assert sess.run(b) == 7.0


def test_saving_makes_the_last_folder(sess: tf.Session, tmp_path: Path) -> None:
    _, b = two(sess)
    path = tf.train.Saver().save(sess, str(tmp_path / "new" / "m"), global_step=3)
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == path
    sess.run(b.assign(b + 1.0))
    tf.train.Saver().restore(sess, path)
    assert sess.run(b) == tf.train.load_checkpoint(path).get_tensor(b.op.name)


def test_wrong_calls_are_refused(sess: tf.Session, tmp_path: Path) -> None:
    w, _ = two(sess)
    saver = tf.train.Saver()
    with pytest.raises(ValueError, match="doesn't exist, can't save"):
        saver.save(sess, str(tmp_path / "no" / "no" / "m"))
    assert not (tmp_path / "no").exists()
    with pytest.raises(ValueError, match="path components"):
        saver.save(sess, str(tmp_path / "m"), latest_filename="a/b")
    with pytest.raises(TypeError, match="must be a Session"):
        saver.save(None, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="when it is None"):
        saver.restore(sess, None)
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        saver.restore(sess, str(tmp_path / "nothing"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        saver.save(tf.Session(), str(tmp_path / "m"))
    with pytest.raises(ValueError, match="write_version"):
        tf.train.Saver(write_version=tf.train.SaverDef.V1)
    with (
        tf.Graph().as_default(),
        tf.Session() as other,
        pytest.raises(ValueError, match="not an element of this graph"),
    ):
        saver.restore(other, saver.save(sess, str(tmp_path / "m")))
    assert sess.run(w).tolist() == [1.0, 2.0]


def test_relative_paths(sess: tf.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two(sess)
    monkeypatch.chdir(tmp_path)
    os.mkdir("models")
    assert tf.train.Saver().save(sess, "models/m", global_step=1) == "models/m-1"
    assert 'model_checkpoint_path: "m-1"' in Path("models/checkpoint").read_text()
    assert tf.train.latest_checkpoint("models") == "models/m-1"
    assert tf.train.Saver().save(sess, "./m") == "./m"
    assert tf.train.latest_checkpoint(".") in ("./m", "././m")
    tf.train.Saver(save_relative_paths=True).save(sess, str(tmp_path / "models" / "k"))
    os.rename("models", "moved")
    assert tf.train.latest_checkpoint("moved") == "moved/k"


def train(module, directory: str, steps: int, restore: str | None = None) -> list[np.ndarray]:
    """A program in the style of published ones, on either TensorFlow."""
    with module.Graph().as_default(), module.Session() as session:
        x = module.placeholder(module.float32, [None, 2], name="x")
        with module.variable_scope("net"):
            w = module.get_variable("w", initializer=np.array([[1.0], [2.0]], np.float32))
            b = module.get_variable("b", [1], initializer=module.zeros_initializer())
        loss = module.reduce_mean(module.square(module.matmul(x, w) + b - 1.0))
        step = module.train.get_or_create_global_step()
        op = module.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        session.run(module.global_variables_initializer())
        saver = module.train.Saver()
        if restore:
            saver.restore(session, restore)
        for _ in range(steps):
            session.run(op, {x: [[1.0, 0.5], [0.2, 0.3]]})
        saver.save(session, os.path.join(directory, "m"), global_step=step)
        return [np.asarray(v) for v in session.run([w, b, step])]


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_training_goes_on_across_both(tmp_path: Path) -> None:
    """Three steps here, then three more there, and the other way round: optimizer slots and all."""
    theirs = pytest.importorskip("tensorflow").compat.v1
    folders = {}
    for name in ("a", "b", "aa", "ab", "ba", "bb"):
        folders[name] = str(tmp_path / name)
        os.mkdir(folders[name])
    train(tf, folders["a"], 3)
    train(theirs, folders["b"], 3)
    assert tf.train.list_variables(folders["a"]) == theirs.train.list_variables(folders["b"])
    results = {}
    for first, before in (("a", folders["a"]), ("b", folders["b"])):
        for second, module in (("a", tf), ("b", theirs)):
            newest = module.train.latest_checkpoint(before)
            results[first + second] = train(module, folders[first + second], 3, newest)
    for result in results.values():
        for one, other in zip(result, results["bb"], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
