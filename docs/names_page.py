"""The page of all names, made from that of what is supported: one table in their order, that can be searched."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

HEAD = """# All names

Every name below `tf.` that is here. Type a part of a name, or of what it does. A tick under *graph* or *tape* says that
`graph_api` or `tape_api` has it; a *1* that the tape has it below `tf.compat.v1`. Under *derivatives* are the arguments
that have one; what is made of other functions has those of their ops. Methods, such as `jacobian` of a tape, stand with
their classes in the [reference](index.md). Whatever else is not in the table is not here:
[what cannot be done](../cannot.md). How each function is made and tested is told in [what is supported](support.md).

```{raw} html
<input id="names-search" type="search" placeholder="relu, cholesky, optimizer ..." aria-label="Search names"
 style="width:100%;max-width:30rem;padding:.4rem" autofocus>
<p id="names-count" role="status"></p>
<table id="names" class="table"><thead><tr>
<th>name</th><th>graph</th><th>tape</th><th>derivatives</th><th>notes</th></tr></thead><tbody>
"""
TAIL = """</tbody></table>
<script>
(() => {
  const rows = [...document.querySelectorAll("#names tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const box = document.getElementById("names-search"), count = document.getElementById("names-count");
  const show = () => {
    const words = box.value.toLowerCase().split(/\\s+/);
    let n = 0;
    rows.forEach((row, i) => {
      const found = words.every((word) => texts[i].includes(word));
      row.hidden = !found;
      n += found;
    });
    count.textContent = `${n} of ${rows.length} names`;
  };
  box.value = decodeURIComponent(location.hash.slice(1));
  box.addEventListener("input", show);
  show();
})();
</script>
```
"""


@dataclass
class Name:
    """What the table says of a name."""

    graph: str = ""
    tape: str = ""
    derivatives: str = ""
    notes: set[str] = field(default_factory=set)


def cells(line: str) -> list[str]:
    """The cells of a line of a table in Markdown."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def names(text: str) -> dict[str, Name]:
    """By name what the page of what is supported says of it."""
    found: dict[str, Name] = {}
    for part in re.split(r"^## ", text, flags=re.M):
        title = part.partition("\n")[0]
        lines = [cells(line) for line in part.splitlines() if line.startswith("| `")]
        if title == "Functions":
            for _, graph, tape, kind, reverse, _, _, _, notes in lines:
                derivatives = {"made of ops": "its ops'", "-": "none"}.get(
                    kind if kind == "made of ops" else reverse, reverse
                )
                for which, listed in (("graph", graph), ("tape", tape)):
                    for name in re.findall(r"`([^`]+)`", listed):
                        add(found, which, name, derivatives, notes)
        elif title.startswith(("graph_api:", "tape_api:")):
            for listed, what in lines:
                for name in re.findall(r"`([^`]+)`", listed):
                    add(found, title.partition("_")[0], name, "", what)
    return found


def add(found: dict[str, Name], which: str, name: str, derivatives: str, notes: str) -> None:
    """Say of a name that a front end has it; the tape's `compat.v1` is TensorFlow 1's name."""
    old = which == "tape" and name.startswith("compat.v1.")
    entry = found.setdefault(name.removeprefix("compat.v1."), Name())
    if which == "graph":
        entry.graph = "✓"
        entry.tape = entry.tape or ("1" if derivatives else "")
    else:
        entry.tape = entry.tape or "1" if old else "✓"
    entry.derivatives = entry.derivatives or derivatives
    entry.notes |= {notes} - {""}


def shown(text: str) -> str:
    """Text in Markdown as HTML, as far as that page goes."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", html.escape(text, quote=False))


def names_page(support: str) -> str:
    """The page in Markdown."""
    lines = [
        f"<tr><td><code>{html.escape(name)}</code></td><td>{entry.graph}</td><td>{entry.tape}</td>"
        f"<td>{shown(entry.derivatives)}</td><td>{shown(' '.join(sorted(entry.notes)))}</td></tr>\n"
        for name, entry in sorted(names(support).items(), key=lambda item: item[0].lower())
    ]
    return HEAD + "".join(lines) + TAIL
