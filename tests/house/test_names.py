"""The names that programs use: every name of TensorFlow that two or more published programs use must be here.

`tests.coverage_of_names` reads them from lists, one of programs for TensorFlow 1, one of programs for TensorFlow 2. A
name that we lack stands in `MISSING`; when it comes, the test says to take it out there.
"""

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import graph_api
from dualgrad.frontend.absent import reason
from tests.coverage_of_names import keywords, used

VERSIONS = {"graph_api": "1", "tape_api": "2"}
GRAPH = "global_variables_initializer placeholder Session disable_eager_execution"
OUT_OF_SCOPE = """estimator.Estimator estimator.EstimatorSpec estimator.RunConfig examples experimental.dtensor
 feature_column.categorical_column_with_hash_bucket feature_column.categorical_column_with_vocabulary_list
 feature_column.make_parse_example_spec feature_column.numeric_column summary.trace_export summary.trace_on"""
MISSING = {
    "graph_api": "contrib.slim.nets python.framework.ops.reset_default_graph python.ops.array_ops",
    "tape_api": f"{GRAPH} {OUT_OF_SCOPE}",
}
"""Names of graphs alone, models, modules of TensorFlow's own, and what this project leaves out."""


def named(front_end: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(front_end))
    except AttributeError:
        return None


def names_in_use(front_end: str) -> dict[str, Any]:
    """What is here under each name that two or more published programs use."""
    return {name: named(front_end, name) for name, files in used(VERSIONS[front_end]).items() if files > 1}


@pytest.mark.parametrize("front_end", VERSIONS)
def test_used_names_are_here(front_end: str) -> None:
    missing = {name for name, found in names_in_use(front_end).items() if found is None}
    assert missing - {"newaxis"} == {*MISSING[front_end].split()}, "MISSING says what is not here"


@pytest.mark.parametrize("front_end", VERSIONS)
def test_docstrings_tell_the_parameters(front_end: str) -> None:
    def tells(found: Any) -> bool:
        is_record = isinstance(found, type) and issubclass(found, (BaseException, tuple))
        is_ours = inspect.isfunction(found) or isinstance(found, type)
        doc = inspect.getdoc(found) or ""
        return not is_ours or is_record or not inspect.signature(found).parameters or "\nParameters\n---" in doc

    assert [name for name, found in names_in_use(front_end).items() if not tells(found)] == []


def refused(front_end: str, call: str) -> str | None:
    """What a call says of an argument that it does not know, whatever else is wrong with it."""
    name, _, keywords = call.rstrip(")").partition("(")
    function: Any = importlib.import_module(front_end)
    for part in name.split("."):
        function = getattr(function, part)
    try:
        with graph_api.Graph().as_default():
            made = function(**dict.fromkeys(keywords.split(",")))
        if isinstance(made, graph_api.Session):
            made.close()
    except Exception as error:  # noqa: BLE001 - None is no good argument
        if "unexpected keyword" in str(error) or "has no argument" in str(error):
            return f"{front_end}.{call}: {error}"
    return None


def test_keywords_in_use_are_accepted() -> None:
    said = [refused(front_end, call) for front_end, version in VERSIONS.items() for call in keywords(version)]
    assert [one for one in said if one] == []


def parts(module: ModuleType, path: str, seen: set[int]) -> Iterator[tuple[str, ModuleType]]:
    """The modules that are parts of a front end, by their names for users."""
    for name in dir(module):
        value = None if name.startswith("_") else getattr(module, name, None)
        if isinstance(value, ModuleType) and "__waiting__" in vars(value) and id(value) not in seen:
            seen.add(id(value))
            yield f"{path}.{name}", value
            yield from parts(value, f"{path}.{name}", seen)


@pytest.mark.parametrize("front_end", ["graph_api", "tape_api"])
def test_dir_shows_of_a_part_what_it_offers_only(front_end: str) -> None:
    root = importlib.import_module(front_end)
    found = dict(parts(root, front_end, {id(root)}))
    assert f"{front_end}.debugging" in found
    # without ``__all__`` dir would show what the module imports
    assert [name for name, part in found.items() if "__file__" in vars(part) and "__all__" not in vars(part)] == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("graph_api.keras.models.load_model", "in graphs: build the model by its own code, and keep variables"),
        ("graph_api.keras.layers.Densee", "no such name (yet)"),
        ("tape_api.keras.models.Sequentiall", "no such name (yet)"),
    ],
)
def test_a_part_of_a_part_says_what_is_missing(path: str, said: str) -> None:
    parent, _, name = path.rpartition(".")
    with pytest.raises(AttributeError, match=re.escape(said)):
        getattr(importlib.import_module(parent), name)


TAKEN_OUT = {
    "graph_api": """
    contrib.crf.crf_log_likelihood contrib.metrics.streaming_auc
    contrib.rnn.LSTMBlockCell image.non_max_suppression keras.layers.AlphaDropout
    keras.layers.CategoryEncoding keras.layers.Discretization keras.layers.RandomZoom keras.metrics.F1Score
    keras.preprocessing.text.Tokenizer metrics.mean_relative_error metrics.mean_tensor metrics.percentage_below
    metrics.precision_at_k metrics.precision_at_top_k metrics.recall_at_thresholds
    metrics.sensitivity_at_specificity nn.ctc_beam_search_decoder nn.ctc_loss nn.ctc_loss_v2
    edit_distance keras.backend.ctc_batch_cost
    nn.embedding_lookup_sparse nn.experimental.general_dropout nn.fixed_unigram_candidate_sampler
    nn.safe_embedding_lookup_sparse sparse.fill_empty_rows sparse.maximum sparse.reduce_max sparse.segment_sum
    sparse.slice sparse_fill_empty_rows sparse_minimum sparse_reduce_max sparse_segment_mean sparse_slice
    """,
    "tape_api": """
    image.non_max_suppression keras.layers.ActivityRegularization
    keras.layers.SpectralNormalization
    keras.preprocessing.text.Tokenizer nn.ctc_loss compat.v1.nn.ctc_loss nn.embedding_lookup_sparse
    edit_distance keras.backend.ctc_batch_cost
    nn.experimental.stateless_dropout random.fixed_unigram_candidate_sampler sparse.fill_empty_rows sparse.minimum
    sparse.segment_mean
    """,
}
"""Names that were here, and that no program counted uses."""


@pytest.mark.parametrize("front_end", TAKEN_OUT)
def test_what_was_taken_out_says_what_to_use(front_end: str) -> None:
    for name in TAKEN_OUT[front_end].split():
        *parts, last = name.split(".")
        here: Any = importlib.import_module(front_end)
        for part in parts:
            if (inner := getattr(here, part, None)) is None:
                last = part
                break
            here = inner
        with pytest.raises(AttributeError, match=re.escape(str(reason(name)))):
            getattr(here, last)
