"""Relations between answers to random specs of every kind, and certificates with something changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from mtpp_dsl.core.plans.result import Infeasibility
from tests.amount import part
from tests.tools import forging
from tests.tools.metamorphic.answers import Answer, Answers
from tests.tools.metamorphic.families import FAMILIES, make
from tests.tools.metamorphic.relations import Trial
from tests.tools.metamorphic.shrinking import shrunk
from tests.tools.metamorphic.text import Spec
from tests.tools.metamorphic.trying import KEPT, RELATIONS, keep, kept, smallest, wrong

SECONDS = 1.0
"""Time limit of an answer: what is compared holds of any plan and bound, however little was found."""
NODES = 5
EXAMPLE = """
graph {
node v0 (work = 3 s, output = 1 GB, params = 2 GB)
node v1 (work = 2 s, output = 2 GB, params = 1 GB)
node v2 (work = 4 s, output = 1 GB, params = 1 GB)
edge v0 -> v1
edge v1 -> v2
}
device d0 (memory = 9 GB)
device d1 (speed = 2, memory = 3 GB)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
constraint acyclic
constraint memory
"""
FEATURES = (
    "phase p|copies up to|overflow = stream|overflow = prefetch|interconnect tree|interconnect links|switch low|link d|"
    "exclusive links|minimize makespan|minimize latency|iteration|shard|replicate|between|robust up to|target|penalty|"
    "cache uniform|workspace|reserve|stages (empty = never)|contiguous|subgraphs|colocate|separate|pin|forbid|used(|"
    "load(|start(|batch =|unsupported|part = backward|parts = separate|recompute|break symmetry|= inf|"
    "within|maximize goal"
)


@pytest.mark.parametrize("family", FAMILIES)
def test_relations_hold(family: str) -> None:
    """Each spec is asked about by some relations, in turns, and nothing contradicts them."""
    first = list(FAMILIES).index(family)
    for seed in range(part(24, 24)):
        spec, answers = make(family, 5000 + seed, NODES), Answers(SECONDS)
        for name in list(RELATIONS)[(first + seed) % len(FAMILIES) :: len(FAMILIES)]:
            assert not [*wrong(name, Trial(spec, "auto", answers, seed))], f"{name}: {spec.text}"


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.mtpp")), ids=lambda path: path.stem)
def test_what_failed_once_holds(path: Path) -> None:
    """A spec that has failed, made small, does not fail again."""
    relation, trial = kept(path)
    assert trial.ask().problem is not None, "it is read"
    assert not [*wrong(relation, trial)]


class Falsified(Answers):
    """Answers of which every second one is changed."""

    def ask(self, spec: Spec, method: str = "auto") -> Answer:
        """Return an answer with a bound that is too high, or one that says that there is no plan."""
        answer = super().ask(spec, method)
        if answer.result is None or answer.result.bound is None or len(self.known) % 2:
            return answer
        if self.seconds == SECONDS:
            bound = replace(answer.result.bound, cost=answer.result.bound.cost * 1.5, certificate=None)
            return replace(answer, result=replace(answer.result, bound=bound))
        return replace(answer, result=replace(answer.result, plan=None, infeasibility=Infeasibility("none", ())))


@pytest.mark.parametrize("name", ["rename", "reorder", "scale", "resize", "pin", "confine", "compare"])
def test_wrong_answers_are_found(name: str) -> None:
    """A bound above the optimum contradicts each relation that compares answers."""
    trials = (Trial(Spec.of(EXAMPLE), "ideals", Falsified(SECONDS), seed) for seed in range(3))
    assert any("bound above" in what for trial in trials for what in wrong(name, trial))


def test_false_claims_are_found() -> None:
    """Where a related spec has a plan, the claim that there is none is wrong."""
    findings = [*wrong("rename", Trial(Spec.of(EXAMPLE), "ideals", Falsified(SECONDS + 1), 0))]
    assert any("false infeasible" in what for what in findings)


def test_changes_are_what_they_say() -> None:
    """Times and rates, sizes and rates, names: all numbers of a unit change, and nothing else."""
    spec = Spec.of(EXAMPLE)
    assert spec.scaled("1000").lines[1] == "node v0 (work = 3000 s, output = 1 GB, params = 2 GB)"
    assert "interconnect shared (bandwidth = 0.001 GB/s)" in spec.scaled("1000").lines
    assert spec.resized("0.5").lines[1] == "node v0 (work = 3 s, output = 0.5 GB, params = 1 GB)"
    assert "interconnect shared (bandwidth = 0.5 GB/s)" in spec.resized("0.5").lines
    assert "edge v7 -> v1" in spec.renamed({"v0": "v7"}).lines
    assert spec.names("device") == ["d0", "d1"]


def test_failures_are_made_small(tmp_path: Path) -> None:
    """What a failure does not need is left out; what is kept says how to try it again."""
    spec = make("shared", 3, 30)
    small = shrunk(spec, lambda other: other.has("work") and len(other.names("node")) > 1)
    assert [line.split()[0] for line in small.lines].count("node") == 2
    assert not small.starting("edge", "constraint")
    trial = Trial(small, "auto", Answers(SECONDS), 7)
    path = keep("scale", trial, small, "bound above a plan: of nothing", tmp_path)
    relation, again = kept(path)
    assert (relation, again.spec, again.seed, again.method) == ("scale", small, 7, "auto")
    assert smallest("write", Trial(spec, "auto", Answers(SECONDS), 0), "nothing of it", 0.0) == spec


def test_all_features_are_drawn() -> None:
    """A few hundred specs have all that the families are for."""
    texts = "".join(make(family, seed, 20).text for family in FAMILIES for seed in range(60))
    for word in FEATURES.split("|"):
        assert word in texts, word


def forgeries(kinds: set[str], count: int) -> Iterator[str]:
    """Yield what is wrong with verdicts on forged certificates of small specs; the kinds that were met are added."""
    for family in FAMILIES:
        for seed in range(count):
            drawn = forging.small(family, seed)
            if drawn is None:
                continue
            problem, best = drawn
            rng = Random(seed)
            names = [*problem.graph.names, *(device.name for device in problem.devices)]
            for certificate in forging.certificates(problem, best):
                kinds.add(certificate.kind)
                made = [forging.forged(rng, certificate.data, best, names) for _ in range(6)]
                yield from (
                    what for data in made for what in [forging.tried(problem, best, certificate.kind, data)] if what
                )


@pytest.mark.long
def test_forged_certificates_prove_nothing_false() -> None:
    """Of every kind: whatever is changed, no more is proved than is true, and nothing is raised but a refusal."""
    kinds: set[str] = set()
    assert not [*forgeries(kinds, 8)]
    assert len(kinds) >= 8
