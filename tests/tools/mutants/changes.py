"""List the small faults that can be put into a file: one operator, condition, number, call or statement each."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from tests.tools.mutants.places import scope_files, whole_files
from tests.tree import ROOT

__all__ = ["Mutant", "changed_tree", "faults_in", "mutants", "mutants_of"]

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLED = {"max": "min", "min": "max", "any": "all", "all": "any", "maximum": "minimum", "minimum": "maximum"}
TOLERANCE = 1e-3
"""Numbers between 0 and this are tolerances: one that is twice as large is no fault."""
LARGE = 100
"""Whole numbers from this on are limits of what is tried, or factors: one more is no fault."""
UNTOUCHED = ("annotation", "returns", "decorator_list", "exc", "type_comment")
"""Fields in which nothing is changed: types, decorators, and the texts of errors."""

N = TypeVar("N", bound=ast.AST)


@dataclass(frozen=True)
class Mutant:
    """One fault: where, what stood there, and what stands there instead.

    Attributes:
        path: of the file, from the root of the checkout.
        line: of the file as it is.
        within: the function, method or class that is changed, as ``Class.method``; empty for what is in none.
        at_import: whether the changed code runs when its module is imported, and is in no function.
        index: counts the faults in the same function that read the same.
    """

    path: str
    line: int
    within: str
    before: str
    after: str
    at_import: bool
    index: int = 0

    @property
    def name(self) -> str:
        """Identify the fault where lines above it come or go, for the list of known ones."""
        count = f" ({self.index + 1})" if self.index else ""
        return f"{Path(self.path).name} {self.within}: {self.before} -> {self.after}{count}"


@dataclass(frozen=True)
class _Fault:
    """A node, the node that stands in its place in the faulty file, and where both are."""

    parent: ast.AST
    old: ast.AST
    new: ast.AST | None
    within: str
    at_import: bool

    def exchange(self, old: ast.AST, new: ast.AST | None) -> None:
        """Put a node in the place of another one, or nothing where there is a list of them."""
        for field, value in ast.iter_fields(self.parent):
            if value is old:
                setattr(self.parent, field, new)
            elif isinstance(value, list) and any(item is old for item in value):
                items = [new if item is old else item for item in value]
                setattr(self.parent, field, [item for item in items if item is not None])


def mutants(only: str = "") -> list[Mutant]:
    """Return every fault of the files with *only* in their path, in a fixed order."""
    every = [*((path, False) for path in whole_files()), *((path, True) for path in scope_files())]
    wanted = [(path, in_scopes) for path, in_scopes in every if only in path.relative_to(ROOT).as_posix()]
    return [mutant for path, in_scopes in wanted for mutant in mutants_of(path, in_scopes)]


def mutants_of(path: Path, in_scopes: bool = False) -> list[Mutant]:
    """Return the faults of one file; *in_scopes*: of what stands in a ``Scope(…)`` alone."""
    return [*_faults_of(path.relative_to(ROOT).as_posix(), in_scopes)[1]]


def faults_in(tree: ast.Module, name: str, in_scopes: bool = False) -> list[Mutant]:
    """Return the faults of a parsed file of this name."""
    return [mutant for mutant, _ in _named(tree, name, in_scopes)]


@contextmanager
def changed_tree(mutant: Mutant) -> Iterator[ast.Module]:
    """Yield the tree of the file with the fault in it, for as long as it is needed.

    Raises:
        LookupError: the file has no such fault.
    """
    for in_scopes in (False, True):
        tree, faults = _faults_of(mutant.path, in_scopes)
        fault = faults.get(mutant)
        if fault is not None:
            items = {field: value for field, value in ast.iter_fields(fault.parent) if isinstance(value, list)}
            if fault.new is not None:
                ast.fix_missing_locations(fault.new)
            fault.exchange(fault.old, fault.new)
            try:
                yield tree
            finally:
                if fault.new is not None:
                    fault.exchange(fault.new, fault.old)
                for field, value in items.items():
                    setattr(fault.parent, field, value)
            return
    raise LookupError(f"{mutant.name}: the file has no such fault")


@cache
def _faults_of(path: str, in_scopes: bool) -> tuple[ast.Module, dict[Mutant, _Fault]]:
    """Return the tree of a file and its faults: made once, as many of one file are tried."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return tree, dict(_named(tree, path, in_scopes))


def _named(tree: ast.Module, path: str, in_scopes: bool) -> list[tuple[Mutant, _Fault]]:
    alike: Counter[tuple[str, str, str]] = Counter()
    pairs = []
    for fault in _in_scopes(tree) if in_scopes else _below(tree, "", True):
        before, after = _short(fault.old), "left out" if fault.new is None else _short(fault.new)
        line = getattr(fault.old, "lineno", getattr(fault.parent, "lineno", 0))
        key = (fault.within, before, after)
        pairs.append((Mutant(path, line, fault.within, before, after, fault.at_import, alike[key]), fault))
        alike[key] += 1
    return pairs


def _below(node: ast.AST, within: str, at_import: bool) -> Iterator[_Fault]:
    """Yield the faults below a node."""
    for field, value in ast.iter_fields(node):
        if field in UNTOUCHED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_untouched(child):
                continue
            inside = within
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inside = f"{within}.{child.name}".removeprefix(".")
            first = at_import and not isinstance(child, ast.FunctionDef)
            for parent, old, new in _faults(child, node):
                yield _Fault(parent, old, ast.copy_location(new, old), inside, first)
            yield from _below(child, inside, first)


def _is_untouched(node: ast.AST) -> bool:
    text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    exported = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    types_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return text or exported or types_only or isinstance(node, ast.Assert | ast.arguments)


def _faults(node: ast.AST, parent: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, ast.AST]]:
    """Yield the faults of this node itself: whose child is replaced, which one, and by what."""
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for other in COMPARED[type(operator)]:
                    yield parent, node, _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in COMPUTED:
            yield parent, node, _with(node, op=COMPUTED[type(operator)]())
        case ast.BoolOp(op=operator):
            yield parent, node, _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield parent, node, operand
        case ast.Constant(value=value) if isinstance(value, bool | int | float) and _is_changed(value):
            yield parent, node, ast.Constant(_other(value))
        case ast.Call(func=ast.Name(id=name) as function) if name in CALLED:
            yield node, function, _with(function, id=CALLED[name])
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in CALLED:
            yield node, function, _with(function, attr=CALLED[name])
        case ast.If(test=test) | ast.IfExp(test=test):
            yield node, test, ast.Constant(True)
            yield node, test, ast.Constant(False)
        case ast.While(test=test):
            yield node, test, ast.Constant(False)
        case ast.comprehension():
            for condition in node.ifs:
                yield node, condition, ast.Constant(True)
        case ast.Expr() | ast.Raise():
            yield parent, node, ast.Pass()
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield parent, node, ast.Return(ast.Constant(None))
        case ast.Continue():
            yield parent, node, ast.Break()


def _is_changed(value: float) -> bool:
    return abs(value) < LARGE if isinstance(value, int) else value == 0 or abs(value) >= TOLERANCE


def _other(value: float) -> float:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 2 * value if value else 1.0


def _with(node: N, **fields: object) -> N:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _in_scopes(tree: ast.Module) -> Iterator[_Fault]:
    """Yield the faults of declared scopes: what they claim, less one item, or with a flag the other way."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Scope":
            for keyword in call.keywords:
                value = keyword.value
                if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                    yield _Fault(call, keyword, _with(keyword, value=ast.Constant(not value.value)), "", True)
                elif isinstance(value, ast.Tuple):
                    yield from (_Fault(value, item, None, "", True) for item in value.elts)
                elif keyword.arg not in ("objectives", "interconnects", "constraints"):
                    yield _Fault(call, keyword, None, "", True)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else f"{text[:87]}..."
