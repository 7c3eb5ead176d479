"""The largest value of a param for which there is a plan: what is found, and what is proved of it."""

from __future__ import annotations

from dataclasses import dataclass

from mtpp_dsl.core.base.data_classes import Short


@dataclass(frozen=True, repr=False)
class LargestValue(Short):
    """What is known of the values of a param.

    Attributes:
        param: its name.
        low, high: the values that were asked about, both counted.
        value: the largest for which a plan was found; None where there is none.
        refuted: the least for which it is proved that there is none; None where none was refuted.
        reason: why that has none.
        not_monotone: why a plan for a larger value may be none for a smaller one, with two values that were read and
            show it; "" where what nodes take only grows with the param, from each value that was read to the next.
        read: how many values were read.
    """

    param: str
    low: int
    high: int
    value: int | None
    refuted: int | None
    reason: str
    not_monotone: str
    read: int

    @property
    def proved(self) -> bool:
        """Whether the next value has no plan, or there is no next one."""
        return self.value == self.high or (self.value is not None and self.refuted == self.value + 1)

    @property
    def open_values(self) -> str:
        """Which values above the largest that fits are undecided, in words; "" where none is."""
        assert self.value is not None
        first, last = self.value + 1, self.high if self.refuted is None else self.refuted - 1
        if first >= last:
            return f"{first:,} is undecided" if first == last else ""
        return f"{first:,} to {last:,} are undecided"

    def in_words(self) -> str:
        """Return what is known, in a sentence."""
        if self.value is None:
            least = f"{self.param} = {self.low:,}"
            return (
                f"not even {least} fits" if self.refuted == self.low else f"{least} is undecided, the least asked for"
            )
        fits = f"{self.param} = {self.value:,} fits"
        if self.value == self.high:
            return f"{fits}, the most that was asked for"
        if self.refuted is None:
            return f"{fits}; {self.open_values}"
        least = "" if self.proved else f"; {self.open_values}"
        proof = f"{fits}, and {self.refuted:,} does not, which is proved{least}"
        if self.not_monotone:
            return f"{proof}; of larger values that says nothing: {self.not_monotone}"
        return f"{proof}; at the {self.read} values that were read, sizes and times only grow with {self.param}"
