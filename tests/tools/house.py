"""Count what the code is made of, in one or several checkouts, as a table in Markdown.

    python -m tests.tools.house                      this checkout
    python -m tests.tools.house BEFORE AFTER         two checkouts side by side
    python -m tests.tools.house . --start            how long commands take to start, too (medians of seven)
    python -m tests.tools.house BEFORE . --suite 1014 480 --write     into CONTRIBUTING.md, with what .ci/run took

The modules are those of ``mtpp_dsl/``, ``models/`` and ``solvers/``. Code is what is left of a file without docstrings,
comments, blank lines and imports.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.tree import statements

FOLDERS = {"mtpp_dsl": "mtpp_dsl", "models": "mtpp_dsl.models", "solvers": "mtpp_dsl.solvers"}
PAGE = Path("CONTRIBUTING.md")
HEADING = "### What it is made of\n"
SAME = 6
"""So many lines of code, or more, that stand in two places are duplicates."""
COMMANDS = (("--help",), ("check", "examples/quickstart.mtpp"), ("solve", "examples/quickstart.mtpp", "--quiet"))


class House:
    """The modules of one checkout, parsed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = {
            path: module_of(root, path) for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))
        }
        self.texts = {path: path.read_text(encoding="utf-8") for path in self.files}
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}
        self.names = set(self.files.values())

    @cached_property
    def code(self) -> dict[Path, dict[int, str]]:
        """The lines of code of each module, by their numbers."""
        return {path: code_lines(text, self.trees[path]) for path, text in self.texts.items()}

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        """Yield the nodes of these kinds in all modules."""
        for tree in self.trees.values():
            yield from (node for node in ast.walk(tree) if isinstance(node, kinds))

    def imports(self, path: Path) -> set[str]:
        """Return the modules of ours that a module imports, wherever in it."""
        found = set()
        for node in statements(self.trees[path]):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name if name in self.names else str(node.module) for name in inner}
        return (found & self.names) - {self.files[path]}


def module_of(root: Path, path: Path) -> str:
    """Return the dotted name of a file."""
    folder, *rest = path.relative_to(root).with_suffix("").parts
    return ".".join((FOLDERS[folder], *rest)).removesuffix(".__init__")


def code_lines(text: str, tree: ast.Module) -> dict[int, str]:
    """Return the lines of a file, by number, that are no docstring, comment, blank line or import."""
    without: set[int] = set()
    for node in ast.walk(tree):
        documented = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if documented or isinstance(node, (ast.Import, ast.ImportFrom)):
            without |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if number not in without)
    return {number: line for number, line in lines if line and not line.startswith("#")}


def rings(house: House) -> int:
    """Return how many groups of modules import each other, directly or in a ring."""
    import networkx as nx

    graph = nx.DiGraph((name, other) for path, name in house.files.items() for other in house.imports(path))
    return sum(len(group) > 1 for group in nx.strongly_connected_components(graph))


def duplicated(house: House) -> int:
    """Return how many lines of code stand in a block of :data:`SAME` lines or more that stands elsewhere, too."""
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, code in house.code.items():
        numbers = list(code)
        for i in range(len(numbers) - SAME + 1):
            places[tuple(code[n] for n in numbers[i : i + SAME])].append((path, i))
    return len({(path, i + j) for spots in places.values() if len(spots) > 1 for path, i in spots for j in range(SAME)})


def lengths(house: House) -> list[int]:
    """Return the lines of each function, sorted."""
    return sorted(node.end_lineno - node.lineno + 1 for node in house.nodes(ast.FunctionDef, ast.AsyncFunctionDef))


def twice(house: House, names: Iterator[str]) -> int:
    """Return how many public names are there more than once."""
    return sum(count > 1 for name, count in Counter(names).items() if not name.startswith("_"))


def classes(house: House) -> Iterator[str]:
    """Yield the names of the classes of modules."""
    return (node.name for tree in house.trees.values() for node in tree.body if isinstance(node, ast.ClassDef))


def comments(house: House) -> int:
    """Return how many whole lines of comment there are."""
    found = 0
    for path in house.files:
        with tokenize.open(path) as file:
            found += sum(
                token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
                for token in tokenize.generate_tokens(file.readline)
            )
    return found


def vague(house: House) -> int:
    """Return how many docstrings of modules begin with What, How or Whether."""
    return sum(
        (ast.get_docstring(tree) or "").startswith(("What ", "How ", "Whether ")) for tree in house.trees.values()
    )


def fillers(house: House) -> int:
    """Return how often a value is given one of the names that fit anything."""
    words = {"found", "each", "said", "told", "held", "laid"}
    return sum(isinstance(node.ctx, ast.Store) and node.id in words for node in house.nodes(ast.Name))


def first_level(house: House) -> int:
    """Return how many folders with code, models and solvers among them, are on the first level of the package."""
    return len({name.split(".")[1] for path, name in house.files.items() if path.name == "__init__.py" and "." in name})


ROWS: dict[str, Callable[[House], object]] = {
    "modules": lambda house: f"{len(house.files):,}",
    "lines": lambda house: f"{sum(text.count(chr(10)) for text in house.texts.values()):,}",
    "lines of code": lambda house: f"{sum(map(len, house.code.values())):,}",
    "whole lines of comment": lambda house: f"{comments(house):,}",
    "folders with code on the first level": first_level,
    "functions": lambda house: f"{len(lengths(house)):,}",
    "lines of a function: median, 90 %": lambda house: (
        f"{statistics.median(lengths(house)):.0f}, {lengths(house)[len(lengths(house)) * 9 // 10]}"
    ),
    "own modules imported by a module, mean": lambda house: (
        f"{statistics.mean(len(house.imports(p)) for p in house.files):.1f}"
    ),
    "rings of imports": rings,
    "public names of classes that occur twice": lambda house: twice(house, classes(house)),
    "names of files that occur twice": lambda house: twice(house, (path.name for path in house.files)) - 1,
    "lines in duplicates": lambda house: f"{duplicated(house):,}",
    "docstrings of modules that begin with What, How, Whether": vague,
    "values named found, each, said, told, held, laid": lambda house: f"{fillers(house):,}",
}


def starting(root: Path, command: tuple[str, ...]) -> str:
    """Return how long a command takes, in seconds: the median of seven runs after one that does not count."""
    runs = []
    for _ in range(8):
        began = time.perf_counter()
        subprocess.run(
            [root / ".venv/bin/python", "-m", "mtpp_dsl", *command], cwd=root, check=True, capture_output=True
        )
        runs.append(time.perf_counter() - began)
    return f"{statistics.median(runs[1:]):.2f} s"


def table(houses: list[House], heads: list[str], start: bool, suite: list[str]) -> str:
    """Return the table, a column a checkout."""
    rows = {name: [str(count(house)) for house in houses] for name, count in ROWS.items()}
    if start:
        rows |= {f"`mtpp {command[0]}`": [starting(house.root, command) for house in houses] for command in COMMANDS}
    if suite:
        rows["`.ci/run`, in a fresh clone"] = [f"{seconds} s" for seconds in suite]
    lines = [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(houses)}"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(values)} |" for name, values in rows.items())])


def write(text: str) -> None:
    """Put a table in the place of the one in CONTRIBUTING.md."""
    before, heading, after = PAGE.read_text(encoding="utf-8").partition(HEADING)
    intro, _, rest = after.partition("\n| |")
    _, _, rest = rest.partition("\n\n")
    PAGE.write_text(f"{before}{heading}{intro}\n{text}\n\n{rest}", encoding="utf-8")


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--start", action="store_true", help="measure how long commands take to start")
    parser.add_argument("--suite", nargs="+", default=[], metavar="SECONDS", help="what .ci/run took in each checkout")
    parser.add_argument("--write", action="store_true", help="write the table into CONTRIBUTING.md")
    asked = parser.parse_args()
    houses = [House(root.resolve()) for root in asked.checkouts]
    heads = ["before", "after"] if len(houses) == 2 else [str(root) for root in asked.checkouts]
    text = table(houses, heads, asked.start, asked.suite)
    if asked.write:
        write(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
