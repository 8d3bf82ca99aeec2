"""Patterns that Python's engine could try for ever are refused; those that programs use are run."""

import numpy as np
import pytest

import tape_api as tf
from engine.ops.patterns import matcher
from engine.runtime.errors import InvalidArgumentError

ENDLESS = [
    rb"(a+)+b", rb"(a|a)*c", rb"(a|aa)+c", rb"(a*)*c", rb"(x+x+)+y", rb"(\s*\w+\s*)+!", rb"(.*,)*x", rb"(a|b|ab)*c",
    rb"((a{1,60}){1,60}){1,60}b", rb"(a?){40}a{40}b", b"a?" * 40 + b"a" * 40, rb"(?i)(a|Ab)*c", rb"((a+)?b?)*c",
    rb"(?:a+?)+?c", rb"([^b]*a*)*c",
]  # fmt: skip


@pytest.mark.parametrize("pattern", ENDLESS)
@pytest.mark.parametrize("search", [False, True])
def test_patterns_that_may_take_for_ever_are_refused(pattern: bytes, search: bool) -> None:
    text = b"a" * 60
    with pytest.raises(InvalidArgumentError, match="may take too long"):
        matcher("regex", pattern, [b"", text], search)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(rb"a*a*a*a*c", b"a" * 3000), (rb"\s+$", b" " * 200_000 + b"x"), (rb"<[^>]+>", b"<" * 100_000)],
)
def test_patterns_that_are_slow_on_long_strings_are_refused_there_alone(pattern: bytes, text: bytes) -> None:
    assert matcher("regex_replace", pattern, [text[:30]], True)
    with pytest.raises(InvalidArgumentError, match=r"regex_replace: the pattern .* grow with the power"):
        matcher("regex_replace", pattern, [b"a", text], True)


USED = [
    rb"<[^>]+>", rb"<.*?>", rb"<br\s*/?>", rb"[!-/:-@]", rb"\s+", rb"[^a-zA-Z0-9 ]", rb"(\w+)@(\w+)\.com", rb"'s\b",
    rb"https?://\S+", rb"^\s+|\s+$", rb"(foo|far)+x", rb"\d{1,3}(,\d{3})*", rb".*foo.*", rb"(?:[^,]*,)*x", rb"",
    rb"([.!?,'])", rb"(?i)the\s+(cat|dog)s?", rb"\$\{[^}]*\}", rb"[a-z]+ing\b", rb"(\d+)-(\d+)", rb"a{1000000}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", USED)
def test_patterns_that_programs_use_are_run_soon(pattern: bytes) -> None:
    text = b"<p>The cat, it's said (1,234 times) sat on http://a.b/c?d=e.</p>\n  " * 100
    found = tf.strings.regex_replace(text, pattern, b"").numpy()
    assert isinstance(found, bytes)


@pytest.mark.parametrize("pattern", [rb"(a)\1", rb"(?=a)b", rb"(?<!a)b", rb"(a)?(?(1)b|c)", rb"(", b"a{2,1}"])
def test_what_re2_does_not_have_is_no_pattern(pattern: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_full_match(np.array(b"a", object), pattern)
