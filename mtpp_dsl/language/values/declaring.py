"""Check what declared names must be: words, the members of families, and units that agree."""

from __future__ import annotations

from collections.abc import Iterator

from mtpp_dsl.core.base.spec_limits import MAX_NAME, MAX_NODES
from mtpp_dsl.core.base.units import NONE, SIZE, TIME, WORK, Dimension
from mtpp_dsl.core.text.source import Fix, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import RESERVED
from mtpp_dsl.language.values.complaints import Complaint, reserved
from mtpp_dsl.language.values.expressions import Locals, evaluate, iterate, whole
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, Sequence, Value, describe

_UNIT_NAMES = {TIME: "s", SIZE: "B", WORK: "FLOP", NONE: ""}
_NOT_IN_NAMES = frozenset('[]",\n\r')


def check_word(name: tree.Word, may_be_string: bool = False) -> None:
    """Complain about a declared name that means something else in expressions, or is too long.

    A node or a device may have any name that is written as a string: expressions call it by the string, too.

    Args:
        name: as it is declared.
        may_be_string: whether it may be written as a string.
    """
    if len(name.text) > MAX_NAME:
        raise Complaint(
            f"a name has at most {MAX_NAME:,} characters; this one has {len(name.text):,}", name.span, code="MTPP-E901"
        )
    if name.text in RESERVED and not name.span.text.startswith('"'):
        note = f'or write it, here and elsewhere, as a string: "{name.text}"'
        raise reserved(name.text, name.span, *([note] if may_be_string else ()))


class UnitKeeper:
    """Holds that all quantities of one sort have one dimension; zeros settle none unless nothing else does."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.dimension: Dimension | None = None
        self.of_zeros: Dimension | None = None
        self.first = ""
        self.place: Span | None = None

    def add(self, value: Quantity, owner: str, span: Span | None) -> None:
        """Note the dimension of *value*.

        Raises:
            Complaint: it differs from an earlier one's.
        """
        if value.value == 0:
            if not value.bare_zero:
                self.of_zeros = value.dimension
            return
        if self.dimension is None:
            self.dimension, self.first, self.place = value.dimension, owner, span
        elif self.dimension is not value.dimension and self.dimension != value.dimension:
            place = None if self.place is None else (self.place, f"{self.first} is {self.dimension}")
            raise Complaint(
                f"{owner} is {value.dimension}, but {self.first} is {self.dimension}: "
                f"all {self.what} of a problem carry units, or none do",
                span,
                second=place,
                code="MTPP-E213",
            )

    @property
    def settles_nothing(self) -> bool:
        """Whether nothing with a unit, or without one, was added but bare zeros."""
        return self.dimension is None and self.of_zeros is None

    @property
    def unit(self) -> str:
        """The base unit."""
        return _UNIT_NAMES[self.dimension or self.of_zeros or NONE]


def expand_family(
    name: str, family: tree.Family | None, scope: SpecScope, local: Locals
) -> Iterator[tuple[str, Locals, tuple[Value, ...]]]:
    """Yield every member's name, its loop variables, and its subscripts: ``a[3]`` is a[0], a[1], a[2]."""
    if family is None:
        yield name, local, ()
    elif family.size is not None:
        _refuse_range(name, family.size, scope, local)
        size = whole(family.size, scope, local, "the size of a family")
        if not 0 <= size <= MAX_NODES:
            raise Complaint(
                f"a family has 0 to {MAX_NODES:,} members; this one has {size:,}", family.span, code="MTPP-E901"
            )
        scope.steps.spend(size * (1 + len(name) // 20), family.span)
        for i in range(size):
            yield f"{name}[{i}]", local, (Quantity(i),)
    else:
        clauses = tree.Clauses(span=family.span, binders=family.binders, condition=None)
        for step in iterate(clauses, scope, local):
            scope.steps.spend(1 + len(name) // 20, family.span)
            values = tuple(step[binder.name.text] for binder in family.binders)
            yield f"{name}[{','.join([subscript_text(value, family.span) for value in values])}]", step, values


def _refuse_range(name: str, size: tree.Expression, scope: SpecScope, local: Locals) -> None:
    """Refuse ``tpu[0..3]`` where a family is declared, and say how it is written."""
    if not isinstance(size, tree.RangeOf):
        return
    members = evaluate(size, scope, local)
    if isinstance(members, Sequence) and isinstance(members.items, range) and members.items[:1] == range(1):
        count, last = str(len(members)), len(members) - 1
        message = f"a family that is declared has a size: write {name}[{count}] for {name}[0] to {name}[{last}]"
        raise Complaint(message, size.span, code="MTPP-E307", fix=Fix.replace(size.span, count))
    message = f"a family that is declared has a size, or loops: write {name}[4], or {name}[i in {size.span.text}]"
    raise Complaint(message, size.span, code="MTPP-E307", fix=Fix.replace(size.span, f"i in {size.span.text}"))


def subscript_text(value: Value, span: Span) -> str:
    """Return how the name of a member has a subscript: a whole number, or a string without its quotes.

    Raises:
        Complaint: it is something else, or a string that a name cannot have.
    """
    if isinstance(value, Quantity) and value.whole is not None:
        return str(value.whole)
    if isinstance(value, str):
        if not value or _NOT_IN_NAMES & set(value):
            raise Complaint(
                f"the name of a member has no '[', ']', ',' or '\"', and is not empty: {value!r}",
                span,
                code="MTPP-E210",
            )
        return value
    raise Complaint(
        f"the members of a family are named by whole numbers or strings; this is {describe(value)}",
        span,
        code="MTPP-E210",
    )
