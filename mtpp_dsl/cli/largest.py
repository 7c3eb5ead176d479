"""``mtpp solve --largest seq=4096..262144``: the largest value of a param that has a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtpp_dsl.cli.parameters import key_values
from mtpp_dsl.cli.screen import say
from mtpp_dsl.core.contracts.protocols import Method
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.language.lowering.lower import Spec
from mtpp_dsl.solving.answers.again import under_target

if TYPE_CHECKING:
    from mtpp_dsl.cli.calls import SolveCall

_ASKED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*([0-9][0-9_]{0,17})\s*\.\.\s*([0-9][0-9_]{0,17})\s*")
_ALONE = ("start", "checkpoint", "write_model", "pareto", "sweep")
"""Options that say something about one problem, or about several answers."""


@dataclass(frozen=True)
class LargestCall:
    """What ``--largest`` asks for.

    Attributes:
        spec: as it was parsed.
        values: of its other params.
        scenario: that counts.
        target: the runtime that the plan is for; None for that of the spec.
        param: whose largest value is asked for.
        low, high: the least and the greatest value that are asked about.
    """

    spec: Spec
    values: Mapping[str, str]
    scenario: str | None
    target: str | None
    param: str
    low: int
    high: int

    @classmethod
    def of(cls, call: SolveCall) -> LargestCall:
        """Read what is asked for, and the spec.

        Raises:
            UsageError: it is no range of a param of the spec, or another option does not go with it.
        """
        from mtpp_dsl.language.lowering.lower import read

        assert call.largest is not None
        for option in _ALONE:
            if getattr(call, option):
                raise UsageError(
                    f"--{option.replace('_', '-')} does not go with --largest, which solves several problems"
                )
        match = _ASKED.fullmatch(call.largest)
        if match is None:
            raise UsageError(f"--largest {call.largest}: write a param and its values, --largest seq=4096..262144")
        param, low, high = match[1], int(match[2]), int(match[3])
        if low > high:
            raise UsageError(f"--largest {call.largest} has no value in it: write the least first")
        spec, values = read(call.spec, call.include), key_values(call.define, "-D")
        if param not in spec.params:
            known = f"its params are {', '.join(spec.params)}" if spec.params else "it has none"
            near = did_you_mean(param, spec.params)
            raise UsageError(f"{call.spec} has no param {param!r}{near or f'; {known}'}")
        if param in values:
            raise UsageError(f"-D {param}={values[param]} and --largest {call.largest} both say what {param} is")
        return cls(spec, values, call.scenario, call.target, param, low, high)

    @property
    def least(self) -> Problem:
        """The problem of the least value."""
        return self.spec.problem({**self.values, self.param: self.low}, scenario=self.scenario)

    def problem_at(self, value: int) -> Problem:
        """Return the problem of a value, under the limits of the target."""
        problem = self.spec.problem({**self.values, self.param: value}, scenario=self.scenario)
        return problem if self.target is None else under_target(problem, self.target)

    def search(self, method: Method, *, quiet: bool, **options: Any) -> Result:
        """Search for the largest value, and say of each that was tried whether it fits; return the answer."""
        from mtpp_dsl.solving.drivers.largest import largest

        def told(value: int, what: str) -> None:
            if not quiet:
                say(f"    {self.param} = {value:,}  {what}", stderr=True)

        return largest(self.problem_at, self.param, self.low, self.high, method=method, told=told, **options)
