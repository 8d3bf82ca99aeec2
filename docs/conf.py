"""The site: ``make docs``.

Sources are the Markdown files beside this one; it is built in a copy of them, to which this file adds what is made from
the code: the reference, the table of what is supported, and the pages of reasons.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HOME), str(HOME / "docs")]

from names_page import names_page  # noqa: E402

import engine  # noqa: E402
import graph_api  # noqa: E402
import optim  # noqa: E402
import tape_api  # noqa: E402
from dualgrad.frontend.namespace import listing  # noqa: E402
from engine.core.op import Op  # noqa: E402
from tests import support_page  # noqa: E402

project, author, copyright = "dualgrad", "The dualgrad authors", "The dualgrad authors"
release = version = engine.__version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_gallery.gen_gallery"]
html_theme = "pydata_sphinx_theme"
html_title = "dualgrad"
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}
html_copy_source = html_show_sourcelink = False
html_css_files = ["narrow.css"]
html_static_path = ["_static"]
exclude_patterns = ["_build", "examples", "gallery/*.md5", "gallery/*.ipynb", "gallery/*.py", "migrations"]

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nitpicky = True
# numpydoc takes a short type for a name
nitpick_ignore = [("py:obj", "aval"), ("py:obj", "sparsity")]
suppress_warnings = ["config.cache"]
autosummary_generate = False
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": False}
numpydoc_show_class_members = False
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "abort_on_example_error": True,
    "show_memory": False,
}

OURS = ("engine", "dualgrad", "graph_api", "tape_api", "optim", "bench")
LEFT_OUT = {"compat", "np", "tf", "nest"}
"""Parts of front ends that have no page: other spellings of the whole."""


def parts(module: ModuleType, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of a front end and each part of it the functions and classes that are ours, by name."""
    found, inner = {}, []
    for name in listing(module):
        value = getattr(module, name)
        if name.startswith("_") or name in LEFT_OUT:
            continue
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] not in ("numpy", "engine"):
                inner.append((name, value))
        elif (
            callable(value)
            and not isinstance(value, Op)
            and str(getattr(value, "__module__", "")).partition(".")[0] in OURS
        ):
            found[name] = value
    if found:
        yield path, found
    for name, value in inner:
        if path.count(".") < 3:
            yield from parts(value, f"{path}.{name}")


def signature(value: Any) -> str:
    """What stands behind the name, without types: they are in the text."""
    try:
        shown = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in shown.parameters.values()]
    bare = [p for p in bare if p.name not in ("self", "cls")]
    text = str(shown.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<([\w.]+)[^>]*>", r"\1", text)


def page(path: str, names: dict[str, Any]) -> str:
    """The page about one part of a front end, in reStructuredText."""
    lines = [path, "=" * len(path), ""]
    for name, value in sorted(names.items(), key=lambda item: item[0].lower()):
        kind = "class" if inspect.isclass(value) else "function"
        lines += [f".. py:{kind}:: {path}.{name}{signature(value)}", ""]
        text = inspect.getdoc(value) or ""
        lines += ["   " + line for line in rendered(value, kind, text)]
        if kind == "class":
            # a base that has a name of its own is told of there
            bases = [c for c in value.__mro__[1:] if c not in names.values() and c.__module__.partition(".")[0] in OURS]
            members = {n: m for c in (*reversed(bases), value) for n, m in vars(c).items()}
            for inner, method in sorted(members.items()):
                if not inner.startswith("_") and inspect.isfunction(method) and method.__doc__:
                    lines += [f"   .. py:method:: {inner}{signature(method)}", ""]
                    lines += ["      " + line for line in rendered(method, "function", inspect.getdoc(method) or "")]
        lines.append("")
    return "\n".join(lines) + "\n"


def rendered(value: Any, kind: str, text: str) -> list[str]:
    """A docstring, numpydoc's sections laid out."""
    from numpydoc.docscrape_sphinx import get_doc_object

    config = {"show_class_members": False, "class_members_list": [], "xref_param_type": False}
    # *args is no emphasis
    lines = [re.sub(r"(?<![\w`*\\(])\*(?=[\w(])", r"\*", x) if ">>>" not in x else x for x in text.splitlines()]
    text = "\n".join(lines)
    return [*str(get_doc_object(value, kind, text, config=config)).splitlines(), ""]


def write_reference(folder: Path) -> None:
    """One page for each part of each front end, and one for `optim`."""
    for front_end, title in ((tape_api, "tape"), (graph_api, "graph")):
        inside = folder / "reference" / title
        inside.mkdir(parents=True, exist_ok=True)
        pages = list(parts(front_end, front_end.__name__))
        for path, names in pages:
            (inside / f"{path}.rst").write_text(page(path, names), encoding="utf-8")
        tree = "\n".join(path for path, _ in pages)
        head = f"`{front_end.__name__}`: TensorFlow {1 if title == 'graph' else 2} style"
        text = f"# {head}\n\n```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
        (inside / "index.md").write_text(text, encoding="utf-8")
    inside = folder / "reference"
    for module in (optim, optim.transforms, optim.schedules):
        names = {name: getattr(module, name) for name in getattr(module, "__all__", dir(module))}
        names = {n: v for n, v in names.items() if callable(v) and getattr(v, "__module__", "").startswith("optim")}
        (inside / f"{module.__name__}.rst").write_text(page(module.__name__, names), encoding="utf-8")


def write_copies(folder: Path) -> None:
    """Pages that lie elsewhere in the repository."""
    supported = support_page.text()
    (folder / "reference" / "support.md").write_text(supported, encoding="utf-8")
    (folder / "reference" / "names.md").write_text(names_page(supported), encoding="utf-8")
    shutil.copy(HOME / "CHANGELOG.md", folder / "reference" / "changelog.md")
    reasons = folder / "reasons"
    reasons.mkdir(exist_ok=True)
    for file in sorted((HOME / "engine" / "explain" / "pages").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        (reasons / file.name).write_text(f"---\norphan: true\n---\n\n{text}", encoding="utf-8")


def relink(app: Any, name: str, source: list[str]) -> None:
    """Links that lead out of ``docs/`` in the repository lead to the site's own pages."""
    text = source[0]
    if name.endswith(("reference/support", "reference/changelog")):
        text = re.sub(r"\]\((?!https?:|#)[^)]*\)", "]", text).replace("[", "\\[")
    up = "../" * name.count("/")
    text = re.sub(r"\]\((?:\.\./)+engine/explain/pages/", f"]({up}reasons/", text)
    text = re.sub(r"\[([^\]]*)\]\((?:\.\./)+(?:CONTRIBUTING|README)\.md[^)]*\)", r"\1", text)
    source[0] = text


def setup(app: Any) -> None:
    """Write what is made from the code, before anything is read."""
    folder = Path(app.srcdir)
    if folder == HOME / "docs":
        raise SystemExit("`make docs` builds the site in a copy of docs/, to which pages are added")
    write_reference(folder)
    write_copies(folder)
    app.connect("source-read", relink)
