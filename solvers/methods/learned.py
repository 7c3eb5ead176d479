"""Methods that learn: a policy trained by REINFORCE."""

from __future__ import annotations

from pathlib import Path

from mtpp_dsl.core.base.files import read_json
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.contracts.scopes import Scoped
from mtpp_dsl.core.contracts.traits import MethodBase
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.methods.rows_checked import rows_checked
from mtpp_dsl.solvers.methods.shared_scopes import ONE_SAMPLE, checking

PATIENCE = 100
"""Updates in a row without a shorter schedule after which ``placeto`` ends."""


class Placeto(Scoped, MethodBase):
    """Method ``placeto``: a learned policy, after Addanki et al. 2019 (Placeto), as a baseline.

    The policy visits the nodes by upward rank and gives each a device, from features of the node, of its neighbours
    and of what was placed before it; the makespan of the list schedule is the reward, and REINFORCE the training. It
    differs from the published one in that one visit is an episode, that neighbours are averaged without learned
    layers, and that it is told when a node would end on each device. Training is on the problem itself, and its time
    is part of the run; a policy that was trained before can be given.

    Args:
        policy: a file that ``mtpp train`` has written; None begins with random weights.
        patience: updates in a row without a shorter schedule, after which it ends.
    """

    name = "placeto"
    gives: Gives = "plan"
    baseline = True
    options = ("policy",)
    summary = "trains a small policy that gives nodes devices, by REINFORCE (after addanki2019, Placeto)"
    scopes = (checking(ONE_SAMPLE),)

    def __init__(self, policy: Path | str | None = None, patience: int = PATIENCE) -> None:
        self.policy, self.patience = policy, patience

    @rows_checked
    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        """Return the best schedule of all episodes, or none, with a note that says why.

        Raises:
            UsageError: the file of the policy cannot be read, or is none.
        """
        from mtpp_dsl.solvers.schedule.learning.policy import Policy
        from mtpp_dsl.solvers.schedule.learning.training import placeto

        given = None if self.policy is None else Policy.from_json(read_json(Path(self.policy)))
        return placeto(problem, limits, progress, given, self.patience)
