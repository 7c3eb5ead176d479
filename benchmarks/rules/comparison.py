"""Values of the plans of rules, and of the stored plans of other planners, beside proved optima."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, inf, log
from pathlib import Path
from typing import NamedTuple

from benchmarks.rules import greedy, parallax, programmes, shares
from benchmarks.rules.places import Instance
from tests.planners import bottleneck

__all__ = ["RULES", "Optima", "Rule", "Tally", "in_order", "is_pipeline", "pipes_of", "stored", "tallies", "value"]

Plan = list[int] | list[list[int]]


@dataclass(frozen=True)
class Rule:
    """A rule: its name in the table, the plans stored of it, and the function."""

    words: str
    stored: str
    make: Callable[[Instance], Plan | None]


RULES = (
    Rule("even (vLLM)", "vllm-even", shares.even_before_last),
    Rule("even, or no plan (Megatron)", "megatron-even", shares.even_only),
    Rule("even with ends (torchtitan)", "torchtitan", shares.with_ends),
    Rule("uniform (DeepSpeed)", "deepspeed-uniform", shares.deepspeed_uniform),
    Rule("parameters (DeepSpeed)", "deepspeed-parameters", shares.deepspeed_parameters),
    Rule("by memory (exo)", "memory-proportional", partial(shares.proportional, what="usable")),
    Rule("by compute", "compute-proportional", partial(shares.proportional, what="tflops")),
    Rule("by bandwidth", "bandwidth-proportional", partial(shares.proportional, what="gbs")),
    Rule("by free memory (llama.cpp)", "llama.cpp", shares.llama_cpp),
    Rule("greedy by memory (accelerate, sequential)", "accelerate-sequential", greedy.sequential),
    Rule("greedy, balanced (accelerate, auto)", "accelerate-auto", greedy.balanced),
    Rule("programme for equal devices (PipeDream)", "pipedream", programmes.pipedream),
    Rule("programme for unequal devices (PipeEdge)", "pipeedge", programmes.pipeedge),
    Rule("copies, greedy (Parallax)", "parallax-greedy", parallax.pipelines),
)


class Optima(NamedTuple):
    """The least bottlenecks of an instance, in seconds.

    Attributes:
        turn: with transfers and work in turn.
        beside: with transfers beside work.
        in_order: in turn, with the stages in the order of the devices as declared.
    """

    turn: float
    beside: float
    in_order: float


@dataclass
class Tally:
    """What came of one planner: its plans' values over the optimum, by instance, and how often it had none.

    Attributes:
        ratios: with transfers and work in turn.
        beside: with transfers beside work.
        in_order: in turn, of plans in the order of the devices, over the optimum in that order.
        exceeded: plans that exceed a memory.
        missing: instances without a plan.
        same: instances whose stored plan is the same, and how many are stored.
    """

    ratios: dict[str, float] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)
    in_order: dict[str, float] = field(default_factory=dict)
    exceeded: int = 0
    missing: int = 0
    same: tuple[int, int] = (0, 0)

    def mean(self) -> float:
        """Return the geometric mean of the ratios; nan without any."""
        values = self.ratios.values()
        return exp(sum(map(log, values)) / len(values)) if values else float("nan")


def stored(data: Path, name: str) -> dict[str, Plan | None]:
    """Return the stored plans of a planner by instance: one or several pipelines, None where it found none."""
    plans = json.loads((data / "planners" / "plans" / f"{name}.json").read_text(encoding="utf-8"))["plans"]
    return {instance: _plan(plan) for instance, plan in plans.items()}


def _plan(plan: Mapping[str, object]) -> Plan | None:
    pipes = plan.get("pipes")
    if isinstance(pipes, list):
        return [pipe["assign"] for pipe in pipes] or None
    assign = plan.get("assign")
    whole = isinstance(assign, list) and all(isinstance(d, int) and d >= 0 for d in assign)
    return [int(d) for d in assign] if isinstance(assign, list) and whole else None


def pipes_of(plan: Plan) -> list[list[int]]:
    """Return the pipelines of a plan."""
    return [plan] if isinstance(plan[0], int) else plan  # type: ignore[list-item,return-value]


def is_pipeline(instance: Instance, device: Sequence[int]) -> bool:
    """Return whether the devices of a plan can be put in an order that all edges follow."""
    after: dict[int, set[int]] = {}
    for u, v in instance["model"]["edges"]:
        if device[u] != device[v]:
            after.setdefault(device[u], set()).add(device[v])
    left = set(device)
    while left:
        ends = {d for d in left if not after.get(d, set()) & left}
        if not ends:
            return False
        left -= ends
    return True


def in_order(instance: Instance, device: Sequence[int]) -> bool:
    """Return whether no edge leads from a device to an earlier one."""
    return all(device[u] <= device[v] for u, v in instance["model"]["edges"])


def value(instance: Instance, plan: Plan, *, overlap: bool = False) -> float:
    """Return the seconds between two inputs, of all pipelines together; ``inf`` if one exceeds a memory."""
    each = [bottleneck(instance, pipe, overlap=overlap) for pipe in pipes_of(plan)]
    return inf if inf in each else 1 / sum(1 / one for one in each)


def tallies(
    data: Path, instances: Mapping[str, Instance], optima: Mapping[str, Optima], others: Sequence[str]
) -> dict[str, tuple[Tally, bool]]:
    """Return what came of each rule and of each of *others*, stored planners; with whether it is a rule of ours.

    Args:
        data: the folder of workloads.
        instances: all instances by name.
        optima: of those that have a plan.
        others: names of stored planners.
    """
    found = {}
    for rule in RULES:
        plans = {name: rule.make(instance) for name, instance in instances.items()}
        kept = stored(data, rule.stored)
        tally = _tally(plans, instances, optima)
        tally.same = sum(plans[name] == plan for name, plan in kept.items() if name in plans), len(kept)
        found[rule.words] = tally, True
    for other in others:
        found[other] = _tally(stored(data, other), instances, optima), False
    return found


def _tally(plans: Mapping[str, Plan | None], instances: Mapping[str, Instance], optima: Mapping[str, Optima]) -> Tally:
    tally = Tally()
    for name, least in optima.items():
        plan = plans.get(name)
        if plan is None or not all(is_pipeline(instances[name], pipe) for pipe in pipes_of(plan)):
            tally.missing += 1
        elif value(instances[name], plan) == inf:
            tally.exceeded += 1
        else:
            tally.ratios[name] = value(instances[name], plan) / least.turn
            tally.beside[name] = value(instances[name], plan, overlap=True) / least.beside
            pipes = pipes_of(plan)
            if len(pipes) == 1 and in_order(instances[name], pipes[0]):
                tally.in_order[name] = value(instances[name], plan) / least.in_order
    return tally
