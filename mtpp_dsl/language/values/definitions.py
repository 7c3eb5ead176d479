"""``let``, ``def`` and ``assert``: the names and functions of a spec, and what must hold of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from mtpp_dsl.core.text.source import Diagnostic
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.declaring import check_word
from mtpp_dsl.language.values.expressions import Locals, evaluate, truth
from mtpp_dsl.language.values.functions import AGGREGATES, FUNCTIONS, own_function
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import describe


def define(statements: Sequence[tuple[tree.Statement, Path]], scope: SpecScope) -> Iterator[Diagnostic]:
    """Make the lets and functions of a spec known, and yield what is wrong with their names; later ones replace.

    A function that calls itself, by itself or through others, is wrong, and is left out.
    """
    params = {s.name.text: s for s, _ in statements if isinstance(s, tree.ParamStatement)}
    for statement, _ in statements:
        if isinstance(statement, (tree.LetStatement, tree.DefStatement)):
            try:
                _define(statement, params, scope)
            except Complaint as complaint:
                yield complaint.diagnostic
                if isinstance(statement, tree.DefStatement):
                    scope.remarks.unsettled.add(statement.name.text)
    for name, chain in _recursive(scope):
        scope.remarks.unsettled.add(name)
        shown = " -> ".join(chain)
        yield Diagnostic(f"'def {name}' calls itself: {shown}", scope.defs[name].name.span, code="MTPP-E207")


def _define(
    statement: tree.LetStatement | tree.DefStatement, params: Mapping[str, tree.ParamStatement], scope: SpecScope
) -> None:
    word = statement.name
    check_word(word)
    name = word.text
    known: dict[str, tree.LetStatement | tree.DefStatement] = {**scope.lets, **scope.defs}
    old = known.get(name)
    if old is not None and (old.span.source is statement.span.source or type(old) is not type(statement)):
        raise Complaint(
            f"{name!r} is already defined at {old.span.place}",
            word.span,
            code="MTPP-E102",
            second=(old.name.span, "first defined here"),
        )
    if name in params:
        second = (params[name].name.span, "declared here")
        raise Complaint(f"{name!r} is a param already", word.span, code="MTPP-E102", second=second)
    if isinstance(statement, tree.LetStatement):
        scope.lets[name] = statement
        return
    seen: set[str] = set()
    for param in statement.params:
        check_word(param)
        if param.text in seen:
            raise Complaint(f"{name!r} has two parameters {param.text!r}", param.span, code="MTPP-E102")
        seen.add(param.text)
    scope.defs[name] = statement


def _recursive(scope: SpecScope) -> Iterator[tuple[str, list[str]]]:
    """Yield the first function of each cycle of calls, with the chain of calls from it to itself."""
    called = {
        name: [word.text for word in _calls(statement.value) if own_function(word, scope) is not None]
        for name, statement in scope.defs.items()
    }
    done: set[str] = set()
    for start in scope.defs:
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(called[start]))] if start not in done else []
        path = [start]
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif following in path:
                yield following, [*path[path.index(following) :], following]
                done.add(following)
            elif following not in done:
                stack.append((following, iter(called[following])))
                path.append(following)


def _calls(node: object) -> Iterator[tree.Word]:
    """Yield the names of all functions that an expression calls, with their places."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.Call):
            yield part.function
        if isinstance(part, tree.Tree):
            waiting += [getattr(part, field.name) for field in fields(part) if field.name != "span"]
        elif isinstance(part, tuple):
            waiting += part


def hidden_names(statements: Sequence[tree.Statement], scope: SpecScope) -> Iterator[Diagnostic]:
    """Yield a warning for each param and let that has the name of a node, a device or a family of these.

    Expressions then mean the param or the let by it. Yield one, too, for each function that has the name of one of the
    language: calls mean the spec's own.
    """
    for statement in statements:
        if isinstance(statement, tree.DefStatement) and (name := statement.name.text) in {**FUNCTIONS, **AGGREGATES}:
            message = f"def {name!r} hides the function of the language of that name: calls mean the def"
            yield Diagnostic(f"{message}; rename it if you need both", statement.name.span, "warning", code="MTPP-W104")
        if isinstance(statement, (tree.ParamStatement, tree.LetStatement)):
            name = statement.name.text
            what = scope.kind_called(name)
            if what:
                kind = "param" if isinstance(statement, tree.ParamStatement) else "let"
                message = f"{kind} {name!r} hides {what} of that name: expressions mean the {kind}; rename one of them"
                yield Diagnostic(message, statement.name.span, "warning", code="MTPP-W101")


def check_assert(statement: tree.AssertStatement, scope: SpecScope, local: Locals | None = None) -> None:
    """Hold that the condition of an ``assert`` is true.

    Raises:
        Complaint: it is not, with the message of the statement if it has one.
    """
    if truth(statement.condition, scope, local or {}):
        return
    usual = f"this does not hold: {' '.join(statement.condition.span.text.split())}"
    if statement.message is None:
        raise Complaint(usual, statement.condition.span, code="MTPP-E711")
    message = evaluate(statement.message, scope, local)
    if not isinstance(message, str):
        raise Complaint(
            f"the message of an assert is a string, not {describe(message)}", statement.message.span, code="MTPP-E210"
        )
    raise Complaint(message or usual, statement.condition.span, code="MTPP-E711")
