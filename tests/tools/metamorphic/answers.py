"""What methods answer to specs, and what is wrong with one answer beside another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import mtpp_dsl
from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.errors import MtppError, Refused, SpecError, UsageError, VerificationError
from mtpp_dsl.problem import Problem
from mtpp_dsl.solving.finding import find_method
from tests.tools.metamorphic.text import Spec

__all__ = ["TOLERANCE", "Answer", "Answers", "at_most"]

TOLERANCE = 3e-6
"""Relative: bounds of solvers are right to some 1e-6."""


@dataclass(frozen=True)
class Answer:
    """What a method answers to a spec.

    Attributes:
        spec: it was asked about.
        problem: as it was read; None where it was refused.
        result: of the method; None where it was refused or failed.
        refused: why the spec or the problem was refused; "" where it was not.
        failed: what went wrong within mtpp; "" where nothing did.
    """

    spec: Spec
    problem: Problem | None = None
    result: Result | None = None
    refused: str = ""
    failed: str = ""

    @property
    def cost(self) -> float | None:
        """The cost of the plan, to be minimised; None without a plan."""
        return None if self.result is None else self.result.cost

    @property
    def bound(self) -> float | None:
        """The bound on it; None without one."""
        return None if self.result is None or self.result.bound is None else self.result.bound.cost

    @property
    def infeasible(self) -> bool:
        """Whether the method claims that no plan exists."""
        return self.result is not None and self.result.status == "infeasible"

    @property
    def size(self) -> float:
        """The size of the numbers that the cost is put together from."""
        return 0.0 if self.result is None or self.result.evaluation is None else self.result.evaluation.size


@dataclass
class Answers:
    """Answers, each asked for once.

    Attributes:
        seconds: time limit of an answer.
        known: answers so far, by text and method.
    """

    seconds: float = 1.0
    known: dict[tuple[str, str], Answer] = field(default_factory=dict)

    def ask(self, spec: Spec, method: str = "auto") -> Answer:
        """Return what a method answers to a spec."""
        key = spec.text, method
        if key not in self.known:
            self.known[key] = self._asked(spec, method)
        return self.known[key]

    def read(self, spec: Spec) -> Problem | None:
        """Return the problem of a spec; None where it is refused, or cannot be read for a fault of mtpp."""
        return self.ask(spec, "").problem

    def _asked(self, spec: Spec, method: str) -> Answer:
        problem = None
        try:
            problem = mtpp_dsl.load(spec.text)
            if not method:
                return Answer(spec, problem)
            threads = 1 if method == "auto" or method_traits(find_method(method)).uses_solver else None
            return Answer(spec, problem, mtpp_dsl.solve(problem, method, time_limit=self.seconds, threads=threads))
        except VerificationError as error:
            return Answer(spec, problem, failed=f"refused by the check: {_first(error)}")
        except (Refused, UsageError, SpecError) as error:
            return Answer(spec, problem, refused=_first(error))
        except MtppError as error:
            return Answer(spec, problem, failed=f"failed: {type(error).__name__}: {_first(error)}")
        except Exception as error:
            return Answer(spec, problem, failed=f"crashed: {type(error).__name__}: {_first(error)}")


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def at_most(low: Answer, high: Answer, factor: float = 1.0) -> Iterator[str]:
    """Yield what contradicts that the optimum of *low*, times *factor*, is at most that of *high*."""
    if high.cost is None:
        return
    if low.infeasible:
        yield f"false infeasible: there is a plan of {high.cost!r}"
    if low.bound is not None:
        bound = low.bound * factor
        size = max(abs(bound), abs(high.cost), high.size if high.size < float("inf") else 0.0)
        if bound > high.cost + TOLERANCE * size:
            yield f"bound above a plan: the bound is {bound!r}, and there is a plan of {high.cost!r}"
