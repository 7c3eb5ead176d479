"""The modules of the project, from the folders that pyproject.toml maps to dotted names."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def setuptools() -> dict[str, Any]:
    """Return ``[tool.setuptools]``."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    return table


def files() -> dict[Path, str]:
    """Return the dotted name of every .py file of the mapped folders; a package's ``__init__`` has its name."""
    found = {}
    for package, folder in setuptools()["package-dir"].items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[path] = ".".join((package, *parts)).removesuffix(".__init__")
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a module and the statements in it, at any depth, and nothing of what is in expressions."""
    left = [tree]
    while left:
        yield (node := left.pop())
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            left.extend(getattr(node, field, ()))


def packages() -> set[str]:
    """Return the dotted name of every folder with an ``__init__.py``."""
    return {name for path, name in files().items() if path.name == "__init__.py"}
