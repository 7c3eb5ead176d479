"""Operations that the user gives for operators that cannot be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mtpp_dsl.exchange.model.sizes import Size


class Flops:
    """Takes operations as given by the names of operators or of what they do, and remembers what is not counted.

    >>> flops = Flops({"own.Magic": "2*batch"})
    >>> flops.of("Magic[0]", "own.Magic", None), flops.of("Conv[0]", "Conv", 7), flops.of("Other[0]", "Other", None)
    ('2*batch', 7, None)
    >>> flops.warnings()
    ["the operations of Other are unknown: give them, as --flop 'Other=FORMULA'"]
    """

    def __init__(self, given: Mapping[str, Size] | None = None) -> None:
        self._given = dict(given or {})
        self._used: set[str] = set()
        self._unknown: Counter[str] = Counter()

    def of(self, name: str, op: str, counted: Size | None) -> Size | None:
        """Return the operations of an operator: those given for it, or for all of its kind, else those counted."""
        for key in (name, op):
            if key in self._given:
                self._used.add(key)
                return self._given[key]
        if counted is None:
            self._unknown[op] += 1
        return counted

    def warnings(self) -> list[str]:
        """Return warnings: operators that are not counted, and counts that were given and are not used."""
        warnings = [f"--flop {name}: the model has no such operator" for name in self._given if name not in self._used]
        if self._unknown:
            listed = ", ".join(f"{op} ({count})" if count > 1 else op for op, count in self._unknown.most_common(12))
            first = next(iter(self._unknown))
            warnings.insert(0, f"the operations of {listed} are unknown: give them, as --flop '{first}=FORMULA'")
        return warnings
