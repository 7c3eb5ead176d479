"""Every public module, class, function and method of the project has a docstring; overrides inherit theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module

from tests.tree import ROOT, files

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def lacking(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Yield the qualified names of what is public and has no docstring; the empty name is the module."""
    if ast.get_docstring(tree) is None:
        yield ()
    yield from _within(tree.body, ())


def _within(body: list[ast.stmt], owner: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for node in body:
        if isinstance(node, Defined) and not node.name.startswith("_"):
            name = (*owner, node.name)
            if ast.get_docstring(node) is None:
                yield name
            if isinstance(node, ast.ClassDef):
                yield from _within(node.body, name)
        elif isinstance(node, ast.If):
            yield from _within([*node.body, *node.orelse], owner)


def overrides(module: str, name: tuple[str, ...]) -> bool:
    """Return whether a method is declared by a base of its class, too."""
    if len(name) < 2:
        return False
    kind = import_module(module)
    for part in name[:-1]:
        kind = getattr(kind, part)
    return any(name[-1] in vars(base) for base in kind.__mro__[1:])


def test_public_docstrings() -> None:
    """Nothing public lacks one."""
    missing = [
        f"{path.relative_to(ROOT)}: {'.'.join(name) or 'the module'}"
        for path, module in files().items()
        for name in lacking(ast.parse(path.read_text(encoding="utf-8")))
        if not overrides(module, name)
    ]
    assert missing == []


def test_what_lacks_one_is_found() -> None:
    """The search finds modules, classes, functions and methods, and passes over private ones."""
    text = (
        'class A:\n    def f(self): ...\n    def _g(self): ...\ndef h():\n    """Do."""\nif True:\n    def i(): ...\n'
    )
    assert [*lacking(ast.parse(text))] == [(), ("A",), ("A", "f"), ("i",)]
    assert overrides("mtpp_dsl.constraints", ("Constraint", "keyword")) is False
    assert overrides("mtpp_dsl.constraints", ("ExclusiveLinks", "keyword")) is True
