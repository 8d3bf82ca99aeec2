"""``python -m bench``: measure, compare two measurements, and write the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import ablation, cluster, compare, document, growth, here, run, suite, tasks
from bench.gradbench import protocol
from bench.results import NotABenchmark

COMMANDS = {
    "run": (run, "measure the suite, or a part of it, into a JSON file"),
    "compare": (compare, "compare two such files; exit code 1 if something of ours became slower"),
    "report": (suite, "write a page, a table in Markdown and one in CSV; without a file, of one model on real data"),
    "document": (document, "write the measured sections of docs/benchmarks.md and of the README from a file"),
    "gradbench": (protocol, "speak to the benchmark suite GradBench, on standard input and output"),
    "cluster": (cluster, "say what derivatives over shards take with processes, and would with more"),
    "here": (here, "say in about a minute what this machine takes for elementary functions and for six problems"),
    "growth": (growth, "fit time and memory of starts, first calls and files to the size, beside other libraries"),
    "tasks": (tasks, "time whole tasks as processes beside what people would take instead; answers have to agree"),
    "ablate": (ablation, "say what each pass and the native executor are good for"),
}

EXTRA = ("pytest", "pytest_benchmark", "sklearn", "threadpoolctl")
"""The packages that the extra ``report`` installs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 2 if a file is not what it should be."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=(__doc__ or "").replace("``", ""))
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, text) in COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + "."))
    options = parser.parse_args(arguments)
    try:
        return COMMANDS[options.command][0].run(options)
    except ModuleNotFoundError as error:
        if error.name not in EXTRA:
            raise
        print(f"{options.command} needs {error.name}: pip install 'dualgrad[report]'", file=sys.stderr)
        return 2
    except NotABenchmark as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
