"""Options between parentheses, read by name, dimension and choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mtpp_dsl.core.base.units import RATE, SIZE, UNITS, Dimension
from mtpp_dsl.core.errors import did_you_mean
from mtpp_dsl.core.text.source import Fix, Span
from mtpp_dsl.language.syntax import tree
from mtpp_dsl.language.syntax.keywords import word_hint
from mtpp_dsl.language.syntax.mentions import mentions
from mtpp_dsl.language.values.complaints import Complaint
from mtpp_dsl.language.values.evaluating import unknown_unit
from mtpp_dsl.language.values.expressions import Locals, evaluate, whole
from mtpp_dsl.language.values.scope import SpecScope
from mtpp_dsl.language.values.values import Quantity, Value, describe, shown
from mtpp_dsl.language.values.values import Sequence as Values

ELSEWHERE = {"overflow": "interconnect shared and interconnect host"}
"""Options that are looked for in other places than their own."""


class Options:
    """The options of one statement, in one step of its comprehension; :meth:`at` goes to another step.

    They may refer to each other in any order, as in ``(params = 3 MiB, memory = 2 * params)``; loop variables, params
    and lets of that name come first.

    Args:
        given: the options.
        known: names that there may be.
        owner: what has them, for messages.
        scope: of the spec.
        local: loop variables.
        absent: what options are, for others that refer to them, where they are not given.
    """

    def __init__(
        self,
        given: Sequence[tree.Option],
        known: Iterable[str],
        owner: str,
        scope: SpecScope,
        local: Locals | None = None,
        absent: Mapping[str, Value] | None = None,
    ) -> None:
        self.scope, self.local, self.owner, self.absent = scope, local or {}, owner, absent or {}
        self.pending: list[str] = []
        self.literals: dict[str, Quantity] = {}  # which are the same in every step
        self.options: dict[str, tree.Option] = {}
        self.known = known = tuple(known)
        for option in given:
            name = option.name.text
            if name not in known:
                listed = f"{owner} takes: {', '.join(known)}" if known else f"{owner} takes no options"
                elsewhere = ELSEWHERE.get(name)
                hint = "" if elsewhere else word_hint(name, known, _sort(owner))
                raise Complaint(
                    f"{owner} has no option {name!r}{hint}",
                    option.name.span,
                    [listed, *([f"{name} is an option of {elsewhere}"] if elsewhere else [])],
                    code="MTPP-E105",
                )
            if name in self.options:
                first = self.options[name].name.span
                message = f"option {name!r} is given twice"
                raise Complaint(message, option.name.span, code="MTPP-E106", second=(first, "first given here"))
            self.options[name] = option

    def at(self, local: Locals) -> Options:
        """Go to the step of the comprehension that has these loop variables; return the options."""
        self.local = local
        return self

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def span(self, name: str) -> Span:
        """Return the place of an option's value."""
        return self.options[name].value.span

    def value(self, name: str) -> Value:
        """Return the value of an option that is given."""
        return evaluate(self.options[name].value, self.scope, self.local_of(name))

    def local_of(self, name: str) -> Locals:
        """Return the loop variables for an option, and the values of the options that it refers to.

        Raises:
            Complaint: it refers to itself, or to one that is not given.
        """
        option = self.options[name]
        if isinstance(option.value, tree.Number):
            return self.local
        mentioned = self.scope.evaluated.mentioned.get(id(option))
        if mentioned is None:
            mentioned = self.scope.evaluated.mentioned[id(option)] = (option, mentions(option.value, calls=False))
        others = [
            mention
            for mention in mentioned[1]
            if mention in self.known and mention != name and mention not in self.local
        ]
        if not others:
            return self.local
        values = dict(self.local)
        self.pending.append(name)
        try:
            for other in sorted(others):
                if other in self.scope.params or other in self.scope.lets:
                    self.warn_of_hidden(other, option)
                else:
                    values[other] = self.referred(other, option)
        finally:
            self.pending.pop()
        return values

    def referred(self, name: str, by: tree.Option) -> Value:
        """Return the value of an option that another one refers to."""
        if name in self.pending:
            chain = " -> ".join([*self.pending[self.pending.index(name) :], name])
            raise Complaint(f"option {name!r} is defined by itself: {chain}", by.value.span, code="MTPP-E108")
        if name in self.options:
            return self.value(name)
        if name in self.absent:
            return self.absent[name]
        raise Complaint(
            f"{self.owner} has no {name} that {by.name.text} could refer to", by.value.span, code="MTPP-E108"
        )

    def warn_of_hidden(self, name: str, by: tree.Option) -> None:
        """Warn that a param or a let is meant where there is an option of that name as well."""
        if name in self.options:
            kind = "param" if name in self.scope.params else "let"
            message = f"{name!r} means the {kind} here, not the option of that name; rename the {kind}"
            self.scope.remarks.warn(message, by.value.span, "MTPP-W103")

    def quantity(self, name: str, dimensions: Sequence[Dimension]) -> Quantity | None:
        """Return an option that is a number, zero or more, in one of *dimensions*; a bare 0 always fits."""
        if name in self.literals:
            self.scope.steps.taken += 1
            return self.literals[name]
        if name not in self.options:
            return None
        given = self.options[name].value
        if isinstance(given, tree.Number) and given.unit is not None and given.unit.text not in UNITS:
            raise unknown_unit(given.unit, dimensions)
        value = self.checked(name, evaluate(given, self.scope, self.local_of(name)), dimensions)
        if isinstance(given, tree.Number):
            self.literals[name] = value
        return value

    def checked(self, name: str, value: Value, dimensions: Sequence[Dimension]) -> Quantity:
        """Return a value of an option that has to be a number, zero or more, in one of *dimensions*.

        Raises:
            Complaint: it is invalid.
        """
        if not isinstance(value, Quantity):
            raise Complaint(f"{name} must be a number; this is {describe(value)}", self.span(name), code="MTPP-E210")
        if value.dimension not in dimensions and not value.bare_zero:
            names = [str(dimension) for dimension in dimensions]
            wanted = " or ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, or {names[-1]}"
            message = f"{name} must be {wanted}; this is {value.dimension}"
            given = self.options[name].value
            if RATE in dimensions and value.dimension == SIZE and isinstance(given, tree.Number):
                mend = Fix.replace(given.span, f"{given.span.text}/s")
                message = f"{message}: write {given.span.text}/s"
                raise Complaint(message, self.span(name), fix=mend, code="MTPP-E213")
            raise Complaint(message, self.span(name), code="MTPP-E213")
        if isinstance(value.value, float) and value.infinite:
            raise Complaint(f"{name} must be a finite number; this is inf", self.span(name), code="MTPP-E214")
        if value.value < 0:
            raise Complaint(f"{name} must not be negative; this is {shown(value)}", self.span(name), code="MTPP-E214")
        return value

    def whole(self, name: str) -> int | None:
        """Return an option that is a whole number."""
        if name not in self.options:
            return None
        return whole(self.options[name].value, self.scope, self.local_of(name), name)

    def text(self, name: str) -> str | None:
        """Return an option that is a string."""
        if name not in self.options:
            return None
        value = self.string(name)
        if not isinstance(value, str):
            raise Complaint(f"{name} must be a string; this is {describe(value)}", self.span(name), code="MTPP-E210")
        return value

    def string(self, name: str) -> Value:
        """Return the value of an option that is a string; a word that means nothing may lack its quotation marks."""
        given = self.options[name].value
        try:
            return self.value(name)
        except Complaint as complaint:
            bare = isinstance(given, tree.Name) and not given.subscripts
            if bare and complaint.diagnostic.code == "MTPP-E101":
                text = given.span.text
                mend = Fix.replace(given.span, f'"{text}"')
                message = f'{name} is a string, in quotation marks: {name} = "{text}"'
                raise Complaint(message, given.span, fix=mend, code="MTPP-E210") from None
            raise

    def label(self, name: str) -> str | None:
        """Return an option that is a word of the user's choice, written bare or as a string."""
        if name not in self.options:
            return None
        value = self.options[name].value
        bare = isinstance(value, tree.Name) and not value.subscripts and not value.parts
        known = (*self.scope.params, *self.scope.lets, *self.local)
        if isinstance(value, tree.Name) and bare and value.name not in known:
            return value.name
        return self.text(name)

    def word(self, name: str, choices: Sequence[str]) -> str | None:
        """Return an option that is one of *choices*, written bare or as a string."""
        if name not in self.options:
            return None
        value = self.options[name].value
        known = (*self.scope.params, *self.local)
        if isinstance(value, tree.Number) and value.span.text in choices:  # it begins with a digit
            mend = Fix.replace(value.span, f'"{value.span.text}"')
            raise Complaint(
                f'a word that begins with a digit stands in quotation marks: {name} = "{value.span.text}"',
                value.span,
                fix=mend,
                code="MTPP-E110",
            )
        bare = isinstance(value, tree.Name) and not value.subscripts and value.name not in known
        if isinstance(value, tree.Chain):  # such as per-input
            word: str | None = value.span.text
        else:
            word = value.name if isinstance(value, tree.Name) and bare else self.text(name)
        if word in choices:
            return word
        listed, joined = ", ".join(choices), str(word).replace("-", "_")
        if joined in choices:
            mend = Fix.replace(value.span, joined)
            raise Complaint(f"{name} is one of {listed}; write {joined}", value.span, fix=mend, code="MTPP-E110")
        raise Complaint(f"{name} is one of {listed}{did_you_mean(joined, choices)}", self.span(name), code="MTPP-E110")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an option that is a string or a list of strings; () when absent."""
        if name not in self.options:
            return ()
        value = self.string(name)
        items = list(value) if isinstance(value, Values) else [value]
        for item in items:
            if not isinstance(item, str):
                raise Complaint(
                    f"{name} must be a list of strings; it holds {describe(item)}", self.span(name), code="MTPP-E210"
                )
        return tuple(item for item in items if isinstance(item, str))


def _sort(owner: str) -> str:
    """Return the sort of words that the options of *owner* are."""
    return "channel" if owner == "a link" or owner.startswith("interconnect ") else owner
