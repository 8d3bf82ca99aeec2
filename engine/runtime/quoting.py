"""Text that comes from files and programs, made fit for what is written: the one place where it is escaped.

Names, messages and lines may hold anything: quotation marks, line ends, control characters, halves of surrogate pairs.
"""

from __future__ import annotations

import html
import re

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    r"""Text on one line, which neither ends a string or comment of Python nor steers a terminal.

    There are escapes for backslashes, double quotation marks and whatever is not printed.

    Examples
    --------
    >>> print(printable('a\n"b"'))
    a\n\"b\"
    """
    # a half of a surrogate pair stays an escape in the string, too: Python 3.13 compiles no docstring that holds one
    text = re.sub("[\ud800-\udfff]", lambda half: ascii(half[0])[1:-1], text)
    return one_line(text.replace("\\", r"\\").replace('"', r"\""))


def one_line(text: str) -> str:
    r"""Text on one line, for people: escapes for whatever is not printed, nothing else is changed.

    Examples
    --------
    >>> print(one_line('a\n"b"'))
    a\n"b"
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def markup(text: str) -> str:
    """Text between tags, or in quotation marks in a tag, of HTML and SVG; what XML 1.0 allows nowhere [1]_ is U+FFFD.

    References
    ----------
    .. [1] T. Bray et al., Extensible Markup Language (XML) 1.0, fifth edition, W3C 2008, production 2 (Char).

    Examples
    --------
    >>> markup("<b>")
    '&lt;b&gt;'
    """
    return html.escape(_NOT_IN_XML.sub("\ufffd", text))
