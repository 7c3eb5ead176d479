"""Say what constraints cost: in words, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mtpp_dsl.core.base.data_classes import Short
from mtpp_dsl.core.constraints import Constraint
from mtpp_dsl.core.text.source import shortened
from mtpp_dsl.language.syntax.places import SpecLines
from mtpp_dsl.show.explaining.slack import Slack

__all__ = ["ConstraintCosts", "Effect", "Price", "statement_words"]

Effect = Literal["restricts", "allows", "changes", "orders", "fixed"]
"""What a constraint does: takes plans away; allows plans; both; orders equal devices alone; says what is asked."""

MOST_SHOWN = 4
MOST_TEXT = 200


@dataclass(frozen=True, repr=False)
class Price(Short):
    """What the constraints of one statement cost, or gain.

    All costs are those of the first objective, as methods minimise it.

    Attributes:
        named: as messages call them.
        lines: of the statement.
        rows: how many constraints it stands for.
        effect: what they do to the set of plans.
        cost: of the best plan that is known without them; None without one.
        bound: no plan without them costs less; None where none was proved.
        least, most: between these is what the best plan costs more with them than without; negative where it costs
            less. None where nothing was proved.
        impossible: whether it was proved that there is no plan without them.
        slack: what the plan leaves of their limits, the tightest first.
        why: why nothing is known; "" where something is.
        said: the finding in a sentence.
        constraints: these.
    """

    named: str
    lines: tuple[SpecLines, ...]
    rows: int
    effect: Effect
    cost: float | None = None
    bound: float | None = None
    least: float | None = None
    most: float | None = None
    impossible: bool = False
    slack: tuple[Slack, ...] = ()
    why: str = ""
    said: str = ""
    constraints: tuple[Constraint, ...] = ()

    @property
    def free(self) -> bool:
        """Whether it was proved that they cost nothing."""
        return self.least == self.most == 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = ("named", "rows", "effect", "cost", "bound", "least", "most", "impossible", "why", "said")
        return {
            **{name: getattr(self, name) for name in names},
            "lines": [each.to_json() for each in self.lines],
            "slack": [each.to_json() for each in self.slack],
        }

    def words(self) -> list[str]:
        """Return it in words."""
        found = [f"  {statement_words(self.lines, self.named)}", f"      {self.said}"]
        binding = [each for each in self.slack if each.binding]
        if binding:
            shown = [f"{shortened(each.name, 80)} ({each.said})" for each in binding[:MOST_SHOWN]]
            more = [f"{len(binding) - MOST_SHOWN} more"] if len(binding) > MOST_SHOWN else []
            found.append(f"      binding: {', '.join([*shown, *more])}")
        elif self.slack:
            of = f", the tightest of {len(self.slack)}" if len(self.slack) > 1 else ""
            how = "not binding" if self.free else "the plan is within it"
            found.append(f"      {how}: {shortened(self.slack[0].name, 80)} has {self.slack[0].said}{of}")
        return found


@dataclass(frozen=True, repr=False)
class ConstraintCosts(Short):
    """What each statement about constraints costs.

    Attributes:
        prices: the dearest first.
        shown: the value of the objective of the plan, for people.
        proved: whether the plan was proved to be the best.
        claimed: whether only a file says so.
    """

    prices: tuple[Price, ...]
    shown: str
    proved: bool
    claimed: bool = False

    def to_json(self) -> list[dict[str, Any]]:
        """Return it as JSON."""
        return [price.to_json() for price in self.prices]

    def words(self) -> list[str]:
        """Return it in words."""
        best = "which is proved to be the best" if self.proved else "which may not be the best"
        best = "the best, as the answer says" if self.proved and self.claimed else best
        head = f"What the constraints cost. With all of them the plan is at {self.shown}, {best}:"
        return [head, *(line for price in self.prices for line in price.words())]


def statement_words(lines: Sequence[SpecLines], named: str) -> str:
    """Return the place and the text of a statement on one line, shortened; what messages call it where it has none."""
    if not lines:
        return shortened(named, MOST_TEXT)
    said = " ".join(lines[0].text.split()) or named
    return f"{lines[0]}: {said if len(said) <= MOST_TEXT else said[:MOST_TEXT] + '…'}"
