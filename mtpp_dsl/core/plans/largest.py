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

    def in_words(self) -> str:
        """Return what is known, in a sentence."""
        if self.value is None:
            return f"not even {self.param} = {self.low:,} fits" if self.refuted == self.low else "nothing is known"
        fits = f"{self.param} = {self.value:,} fits"
        if self.value == self.high:
            return f"{fits}, the most that was asked for"
        if self.refuted is None:
            return f"{fits}; nothing is proved of larger values"
        least = "" if self.proved else f"; nothing is known of the values up to {self.refuted - 1:,}"
        proof = f"{fits}, and {self.refuted:,} does not, which is proved{least}"
        if self.not_monotone:
            return f"{proof}; of larger values that says nothing: {self.not_monotone}"
        return f"{proof}; at the {self.read} values that were read, sizes and times only grow with {self.param}"
