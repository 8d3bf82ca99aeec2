"""Print what a shell needs to complete the command's words.

``eval "$(dualgrad completion bash)"`` in ``~/.bashrc``, the same with ``zsh`` in ``~/.zshrc``, and
``dualgrad completion fish > ~/.config/fish/completions/dualgrad.fish``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping

DESCRIPTION = """Print what a shell needs to complete words after `dualgrad`. In ~/.bashrc or ~/.zshrc write eval
"$(dualgrad completion bash)", or zsh. For fish: dualgrad completion fish >
~/.config/fish/completions/dualgrad.fish"""
Commands = Mapping[str, tuple[str, argparse.ArgumentParser]]
"""Of each subcommand what it does, and its parser."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which arguments the subcommand takes."""
    parser.add_argument("shell", choices=tuple(SHELLS), metavar="SHELL", help=", ".join(SHELLS))


def main(given: argparse.Namespace) -> int:
    """Print the script; 0."""
    print(SHELLS[given.shell](given.commands))  # noqa: T201
    return 0


def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options of a subcommand that its help names."""
    return [a for a in parser._actions if a.option_strings and a.help != argparse.SUPPRESS]


def words(actions: Iterable[argparse.Action]) -> str:
    """All their names."""
    return " ".join(name for action in actions for name in action.option_strings)


def quoted(text: str | None) -> str:
    """One word for any of the shells: without what means something between single quotes, or in zsh's lists."""
    return re.sub(r"[\[\]'\\:]", "", " ".join((text or "").split()))


def bash(commands: Commands) -> str:
    """For bash."""
    cases = []
    for name, (_, parser) in commands.items():
        lists = [
            f"{'|'.join(a.option_strings)}) words='{' '.join(map(str, a.choices))}' ;;"
            for a in options(parser)
            if a.choices
        ]
        chosen = [" ".join(map(str, a.choices)) for a in parser._actions if a.choices and not a.option_strings]
        positional = f"words='{chosen[0]}'" if chosen else "words="
        cases.append(
            f"    {name})\n      case $before in {' '.join(lists)}\n"
            f"        *) case $now in -*) words='{words(options(parser))}' ;; *) {positional} ;; esac ;;\n"
            f"      esac ;;"
        )
    return f"""_dualgrad() {{
  local now=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then words='{" ".join(commands)} --help --version'; else
  case ${{COMP_WORDS[1]}} in
{chr(10).join(cases)}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}}
complete -o default -F _dualgrad dualgrad"""


def zsh(commands: Commands) -> str:
    """For zsh."""
    cases = []
    for name, (_, parser) in commands.items():
        said = []
        for action in options(parser):
            values = f"({' '.join(map(str, action.choices))})" if action.choices else "_files"
            value = "" if action.nargs == 0 else f":{action.dest}:{values}"
            said += [f"'{option}[{quoted(action.help)}]{value}'" for option in action.option_strings]
        chosen = [" ".join(map(str, a.choices)) for a in parser._actions if a.choices and not a.option_strings]
        rest = f"'1:what:({chosen[0]})'" if chosen else "'*:file:_files'"
        cases.append(f"    {name}) _arguments {' '.join(said)} {rest} ;;")
    listed = " ".join(f"'{name}:{quoted(purpose)}'" for name, (purpose, _) in commands.items())
    return f"""#compdef dualgrad
_dualgrad() {{
  local -a commands=({listed})
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  shift words; (( CURRENT-- ))
  case $words[1] in
{chr(10).join(cases)}
  esac
}}
compdef _dualgrad dualgrad"""


def fish(commands: Commands) -> str:
    """For fish."""
    lines = []
    for name, (purpose, parser) in commands.items():
        lines.append(f"complete -c dualgrad -n __fish_use_subcommand -f -a {name} -d '{quoted(purpose)}'")
        inside = f"complete -c dualgrad -n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:
            if action.help == argparse.SUPPRESS:
                continue
            choices = f" -a '{' '.join(map(str, action.choices))}'" if action.choices else ""
            if not action.option_strings:
                lines += [f"{inside} -f{choices}"] if choices else []
                continue
            names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in action.option_strings]
            value = "" if action.nargs == 0 else f" -x{choices}" if choices else " -r"
            lines.append(f"{inside} {' '.join(names)}{value} -d '{quoted(action.help)}'")
    return "\n".join(lines)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
