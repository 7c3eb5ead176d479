"""What is wrong with an explanation, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.tools.asking.clashes import clashes
from tests.tools.asking.costs import altered, elsewhere, neighbours, prices
from tests.tools.asking.holding import held
from tests.tools.asking.late import slacks
from tests.tools.asking.truth import Truth

__all__ = ["wrong"]


def wrong(truth: Truth, question: Any, found: Any) -> Iterator[str]:
    """Yield what is wrong with an explanation."""
    parts = found.parts
    checks = {
        "infeasible": clashes, "constraints": prices, "node": elsewhere, "what_if": altered,
        "next": neighbours, "bottleneck": held, "critical": slacks,
    }  # fmt: skip
    found.words()
    found.to_json()
    for name, check in checks.items():
        if name in parts:
            yield from (f"{name}: {what}" for what in check(truth, question, parts[name]))
