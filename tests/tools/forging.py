"""``python -m tests.tools.forging --count 10000``: certificates with something changed, which must prove nothing false.

Small random specs of all families get bounds with certificates by every method, and their optimum by trying all plans.
In each certificate numbers, names, signs, rows, branches, hashes and targets are changed, or it is put to another
problem. What a checker then proves is at most the optimum, and nothing is raised but a refusal.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice
from math import inf, nextafter
from random import Random
from typing import Any

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import cost_of
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.errors import MtppError, Refused, SolverError, UsageError
from mtpp_dsl.core.plans.result import Certificate
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.proofs.packed import packed, unpacked
from mtpp_dsl.solving.answers.certifying import leaves_for
from mtpp_dsl.solving.finding import find_method
from tests.tools.certificates import parts_of
from tests.tools.metamorphic.claims import others
from tests.tools.metamorphic.families import FAMILIES, make

__all__ = ["CHANGES", "JUNK", "certificates", "changed", "forged", "places", "small", "tried"]

JUNK = [None, True, -1, 0, 1, 2, 7, 0.5, 1e-300, 1e300, inf, float("nan"), 10**400, "a", "0" * 16, [], {}, [[]]]
CHANGES = ("drop", "rename", "other name", "ulp", "more", "less", "ten", "minus", "twice", "swap", "junk")
MAX_PLANS = 3000
SLOW = ("brkga", "random", "mla", "mla-weighted", "ea", "genetic", "slicegraph", "annealing", "local-search", "lns")
"""Methods without bounds, which would only take time."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where there is anything in nested data."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, item in inner for deeper in places(item, (*path, key)))]


def changed(data: dict[str, Any], path: tuple[Any, ...], change: str, junk: Any, names: list[str]) -> dict[str, Any]:
    """Return a copy of data in which what stands at *path* is another."""
    copy = deepcopy(data)
    holder: Any = copy
    for key in path[:-1]:
        holder = holder[key]
    key, old = path[-1], holder[path[-1]]
    number = isinstance(old, (int, float)) and not isinstance(old, bool) and abs(old) <= 1e300
    if change == "drop":
        del holder[key]
    elif change == "rename" and isinstance(holder, dict) and key in names:
        holder[names[(names.index(key) + 1) % len(names)]] = holder.pop(key)
    elif change == "other name" and old in names:
        holder[key] = names[(names.index(old) + 1) % len(names)]
    elif change == "ulp" and number:
        holder[key] = nextafter(old, inf)
    elif change == "more" and number:
        holder[key] = old + 1 if isinstance(old, int) else old * 1.01
    elif change == "less" and number:
        holder[key] = max(old - 1, 0) if isinstance(old, int) else old * 0.9
    elif change == "ten" and number:
        holder[key] = old * 10
    elif change == "minus" and number:
        holder[key] = -old
    elif change == "twice" and isinstance(old, list):
        holder[key] = old + old[:1]
    elif change == "swap" and isinstance(old, list) and len(old) > 1:
        old[0], old[-1] = old[-1], old[0]
    else:
        holder[key] = junk
    return copy


def forged(rng: Random, data: Mapping[str, Any], best: float | None, names: list[str]) -> dict[str, Any]:
    """Return a certificate's data with one to three things changed, and often with a target that is not true."""
    made: dict[str, Any] = deepcopy(dict(data))
    tree = unpacked(made["tree"]) if isinstance(made.get("tree"), str) else None
    if tree is not None:
        made["tree"] = tree
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        spots = [path for path in places(made) if path]
        if spots:
            made = changed(made, rng.choice(spots), rng.choice(CHANGES), rng.choice(JUNK), names)
    if rng.random() < 0.6 and "target" in made and best is not None:
        made["target"] = rng.choice([nextafter(best, inf) * (1 + 1e-9), best * 1.001, best * 2, best + 1])
    if tree is not None and isinstance(made.get("tree"), list):
        try:
            made["tree"] = packed(made["tree"])
        except ValueError:  # a number that JSON does not have
            made["tree"] = "a"
    return made


def small(family: str, seed: int) -> tuple[Problem, float | None] | None:
    """Return a small problem and its optimum; None if it cannot be read, or has too many plans to try."""
    try:
        problem = mtpp_dsl.load(make(family, seed, 4).text)
        if problem.k**problem.graph.n > (100 if problem.timed or problem.objective.batch else 400):
            return None
        all_plans = [cost_of(problem, plan) for plan in islice(plans(problem), MAX_PLANS)]
    except MtppError:
        return None
    return None if len(all_plans) == MAX_PLANS else (problem, min(all_plans, default=None))


def certificates(problem: Problem, best: float | None) -> Iterator[Certificate]:
    """Yield certificates of all kinds that methods give for a problem."""
    kinds: set[str] = set()
    for name in others(problem):
        if name in SLOW:
            continue
        try:
            bound = find_method(name).solve(problem, Limits(time=0.5), Progress()).bound
        except (UsageError, SolverError):
            continue
        if bound is not None and bound.certificate is not None and bound.certificate.kind not in kinds:
            kinds.add(bound.certificate.kind)
            yield bound.certificate
    if best is not None and best > 0:
        tree = leaves_for(problem, best * (1 - 1e-9), Limits(time=2.0))
        yield from () if tree is None else [tree]
        yield from (Certificate(kind, {"target": best * (1 - 1e-9)}) for kind in ("ideals", "halves", "series"))
        yield from (Certificate("parts", data) for data in parts_of(problem))


def tried(problem: Problem, best: float | None, kind: str, data: Mapping[str, Any]) -> str:
    """Return what is wrong with a checker's verdict on a certificate; "" where nothing is."""
    checker = registry.load(registry.PROOFS, kind)()
    try:
        proved = float(checker.prove(recognised(problem.in_one_phase or problem).problem, data, Limits(time=5.0)))
    except (Refused, UsageError):
        return ""
    except Exception as error:
        return f"{kind} crashed: {type(error).__name__}: {str(error)[:150]}"
    if best is not None and not proved <= best * (1 + 1e-9 if best > 0 else 1 - 1e-9) + 1e-12:
        return f"{kind} proves {proved!r}, and the optimum is {best!r}"
    return ""


def main() -> int:
    """Return the exit status: 1 where something false was proved, or a checker crashed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.forging", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="forged certificates, in all")
    parser.add_argument("--each", type=int, default=12, help="of each certificate, so many")
    parser.add_argument("--seed", type=int, default=0, help="of the first spec")
    options = parser.parse_args()
    table: Counter[str] = Counter()
    wrongs, seed, before = 0, options.seed, {}
    while sum(table.values()) < options.count:
        for family in FAMILIES:
            drawn = small(family, seed)
            if drawn is None:
                continue
            problem, best = drawn
            rng = Random(f"{family} {seed}")
            names = [*problem.graph.names, *(device.name for device in problem.devices)]
            for certificate in certificates(problem, best):
                kind, data = certificate.kind, dict(certificate.data)
                made = [data, *(forged(rng, data, best, names) for _ in range(options.each))]
                made += [before[kind]] if kind in before else []
                before[kind] = data
                table[kind] += len(made)
                for one in made:
                    what = tried(problem, best, kind, one)
                    wrongs += bool(what)
                    if what:
                        print(f"WRONG {family} {seed}: {what}\n  {one}", flush=True)
        seed += 1
    print(", ".join(f"{kind} {number}" for kind, number in table.most_common()))
    print(f"{sum(table.values())} certificates, {wrongs} wrong; the next seed is {seed}")
    return int(bool(wrongs))


if __name__ == "__main__":
    sys.exit(main())
