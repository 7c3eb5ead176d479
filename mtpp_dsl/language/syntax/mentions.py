"""Which names an expression mentions, without evaluating it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from mtpp_dsl.language.syntax import tree


def mentions(expression: tree.Tree | None, *, calls: bool = True) -> frozenset[str]:
    """Return the names that an expression mentions, its own loop variables among them; with *calls* functions, too.

    A bare name that is the key of a map stands for its own text, and is none of them.
    """
    names: set[str] = set()
    waiting: list[object] = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.Name):
            names.add(part.name)
        elif isinstance(part, tree.Call) and calls:
            names.add(part.function.text)
        if isinstance(part, tree.MapOf):
            keys = (entry.key for entry in part.entries)
            waiting += [key for key in keys if not isinstance(key, tree.Name) or key.subscripts or key.parts]
            waiting += [entry.value for entry in part.entries]
        elif isinstance(part, tree.Tree):
            waiting += [getattr(part, field.name) for field in fields(part) if field.name != "span"]
        elif isinstance(part, tuple):
            waiting += part
    return frozenset(names)


def ordered(needs: Mapping[str, Iterable[str]]) -> tuple[list[str], list[list[str]]]:
    """Return names in an order in which each comes after those that it needs, and the cycles that forbid one.

    Args:
        needs: by name the names that it needs; others than the keys do not matter.

    Returns:
        the order, of which the names of cycles are a part, and of each cycle the chain from a name to itself.
    """
    done: dict[str, None] = {}
    cycles: list[list[str]] = []
    for start in needs:
        path: dict[str, None] = {start: None}
        stack = [(start, iter(needs[start]))] if start not in done else []
        while stack:
            name, rest = stack[-1]
            following = next((need for need in rest if need in needs and need not in done), None)
            if following is None:
                stack.pop()
                path.pop(name)
                done[name] = None
            elif following in path:
                names = list(path)
                cycles.append([*names[names.index(following) :], following])
            else:
                path[following] = None
                stack.append((following, iter(needs[following])))
    return list(done), cycles
