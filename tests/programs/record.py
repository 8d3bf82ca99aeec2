"""What real TensorFlow prints when it runs the programs: ``python -m tests.programs.record [NAME...]`` keeps it.

Programs of version 1 get ``tensorflow.compat.v1`` as `tensorflow`: TensorFlow's own advice is to change them so.
"""

import contextlib
import io
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.programs.catalogue import HERE, output_of, programs


def as_version_1() -> Any:
    """Real TensorFlow with the names and behaviour of version 1, also by the name `tensorflow`."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # has tf.layers, in the package tf_keras
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    for name in [n for n in sys.modules if n.startswith("tensorflow.")]:
        module = sys.modules.get(f"tensorflow.compat.v1.{name.removeprefix('tensorflow.')}")
        if module is not None:
            sys.modules[name] = module
    sys.modules["tensorflow"] = tf
    return tf


def _forget() -> None:
    """Undo what programs before it have set for all: Keras's policy of dtypes, which goes before `set_floatx`."""
    keras = sys.modules.get("keras")
    if keras:
        keras.backend.clear_session()
        keras.backend.set_floatx("float32")


def what_it_prints(program: Path) -> str:
    """Run a program under the TensorFlow there is; in a folder of its own, for its files."""
    _forget()
    twin = HERE / "equivalents" / program.name
    out, here, sys.argv = io.StringIO(), os.getcwd(), [program.name]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        os.chdir(folder)
        try:
            runpy.run_path(str(twin if twin.exists() else program), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{program.name} ends with {end.code}") from end
        finally:
            os.chdir(here)
    return out.getvalue()


def main() -> None:
    """Run those that are named, or all; those of version 1 in a process of their own."""
    wanted = [p for p in programs() if not sys.argv[1:] or p.stem in sys.argv[1:]]
    for folder in ("tapes", "graphs"):
        sys.stdout.flush()
        process = os.fork()
        if not process:
            tf = as_version_1() if folder == "graphs" else None
            for program in wanted:
                if program.parent.name == folder:
                    if tf:
                        tf.reset_default_graph()
                    output_of(program).write_text(what_it_prints(program))
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            sys.exit(f"a program of {folder} failed")


if __name__ == "__main__":
    main()
