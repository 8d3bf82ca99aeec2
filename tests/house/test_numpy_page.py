"""The page on NumPy's and SciPy's functions says what the tables say, and its programs run."""

import doctest

from engine.numpy_api import manners
from tests.numpy_page import PAGE, page


def test_it_says_what_the_tables_say() -> None:
    assert PAGE.read_text() == page(), "write it anew: python -m tests.numpy_page"


def test_its_programs_run() -> None:
    written = PAGE.with_name("numpy-and-scipy.md")
    text = "\n".join(line for line in written.read_text().splitlines() if not line.startswith("```"))
    runner = doctest.DocTestRunner()
    try:
        runner.run(doctest.DocTestParser().get_doctest(text, {}, written.name, str(written), 0))
    finally:
        manners.enable(False)
    assert runner.tries > 10
    assert runner.failures == 0
