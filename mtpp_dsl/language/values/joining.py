"""``+`` and ``-`` of what is no number: strings, lists and sets."""

from __future__ import annotations

from mtpp_dsl.language.values.arithmetic import Mismatch
from mtpp_dsl.language.values.values import DeviceRef, NodeRef, Quantity, Sequence, Value, describe

__all__ = ["join"]

MAX_TEXT = 1_000_000
"""Characters of a string."""


def join(left: Value, operator: str, right: Value) -> Value:
    """Return ``left + right`` or ``left - right``.

    Strings and lists (also ranges) stand one behind the other. Of sets, ``+`` is the union, in the order in which the
    members first occur, and ``-`` what is only in the left one. Beside a set, a node or a device is the set of it
    alone: a path may name one or several.

    Raises:
        Mismatch: they are of two kinds, or have no such operation; or the string would be too long.
    """
    left, right = _as_set(left, right), _as_set(right, left)
    word = {"+": "add", "-": "take"}[operator]
    if isinstance(left, str) and isinstance(right, str) and operator == "+":
        if len(left) + len(right) > MAX_TEXT:
            raise Mismatch(f"a string has at most {MAX_TEXT:,} characters")
        return left + right
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return _sequences(left, operator, right)
    if isinstance(left, str) and operator == "+":
        remedy = "; write string(…) around it" if isinstance(right, Quantity) else ""
        raise Mismatch(f"cannot add {describe(right)} to a string{remedy}")
    where = f"{'to' if operator == '+' else 'from'} {describe(left)}"
    remedy = ""
    if isinstance(left, Sequence):
        remedy = f": write it in {'{…}' if left.kind == 'set' else '[…]'}"
    raise Mismatch(f"cannot {word} {describe(right)} {where}{remedy}")


def _as_set(value: Value, other: Value) -> Value:
    """Return the set of a node or a device alone where the *other* operand is a set, or a node or device, too."""
    beside = isinstance(other, (NodeRef, DeviceRef)) or (isinstance(other, Sequence) and other.kind == "set")
    return Sequence((value,), "set") if beside and isinstance(value, (NodeRef, DeviceRef)) else value


def _sequences(left: Sequence, operator: str, right: Sequence) -> Sequence:
    sets = [value.kind == "set" for value in (left, right)]
    if all(sets):
        if operator == "-":
            return Sequence(tuple(item for item in left if item not in right.members), "set")
        return Sequence(tuple(dict.fromkeys([*left, *right])), "set")
    if any(sets):
        raise Mismatch(
            f"{describe(left)} and {describe(right)} do not go together: a set has no order; "
            "write {x for x in …} for a set, or [x for x in …] for a list"
        )
    if operator == "-":
        raise Mismatch("a list has no difference; sets have: write {…} - {…}")
    return Sequence((*left, *right), "list")
