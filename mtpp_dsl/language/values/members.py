"""Find what the members of a statement name: nodes, or devices."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.text.source import Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.expressions import Locals, evaluate
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Sequence, Value, describe


class Empty(Complaint):
    """A set without members, where a statement speaks of some: most statements then say nothing.

    Attributes:
        what: "node" or "device".
    """

    def __init__(self, what: str, span: Span) -> None:
        super().__init__(f"there is no {what} in this set", span, code="MTPP-E210")
        self.what, self.span = what, span

    def warn(self, scope: SpecScope) -> None:
        """Warn that a statement says nothing."""
        message = f"there is no {self.what} in this set, so the statement says nothing"
        scope.remarks.warn(message, self.span, "MTPP-W204")


def members(
    named: tuple[tree.Expression, ...], scope: SpecScope, local: Locals, kind: type[NodeRef] | type[DeviceRef]
) -> tuple[int, ...]:
    """Return the numbers of the nodes or devices that expressions name, each once, sorted.

    Raises:
        Empty: there are none.
        Complaint: one is something else.
    """
    return tuple(sorted(set(in_their_order(named, scope, local, kind))))


def in_their_order(
    named: tuple[tree.Expression, ...], scope: SpecScope, local: Locals, kind: type[NodeRef] | type[DeviceRef]
) -> list[int]:
    """Return the numbers of the nodes or devices that expressions name, in the order in which they are named.

    Raises:
        Empty: there are none.
        Complaint: one is something else.
    """
    what = "node" if kind is NodeRef else "device"
    numbers: list[int] = []
    for member in named:
        before = len(numbers)
        for item in _flat(evaluate(member, scope, local), scope, member.span, kind):
            if not isinstance(item, kind):
                raise Complaint(f"a {what} is wanted here, not {describe(item)}", member.span, code="MTPP-E210")
            numbers.append(item.index)
        if kind is NodeRef:
            scope.remarks.count(len(numbers) - before, member.span)
    if not numbers:
        scope.remarks.need(f"{what}s")
        raise Empty(what, named[0].span)
    return numbers


def _flat(value: Value, scope: SpecScope, span: Span, kind: type[NodeRef] | type[DeviceRef]) -> Iterator[Value]:
    """Yield the members of a value; a string stands for the node, device or family that it names.

    A string that is the name of one of the wanted *kind* means that, whatever else is called so.
    """
    if isinstance(value, str):
        known = scope.wanted(value, "node" if kind is NodeRef else "device", span)
        if known is None:
            raise scope.unknown(value, span)
        value = known
    if isinstance(value, Sequence):
        scope.steps.spend(len(value), span)
        for item in value:
            yield from _flat(item, scope, span, kind)
    else:
        yield value
