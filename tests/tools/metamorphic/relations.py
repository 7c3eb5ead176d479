"""Relations: how a spec is changed, and how the answers before and after must then compare."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import mtpp_dsl
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.errors import MtppError
from mtpp_dsl.language.syntax.layout import format_spec
from tests.equal import differences
from tests.tools.metamorphic.answers import Answer, Answers, at_most
from tests.tools.metamorphic.text import Spec

__all__ = [
    "Relation",
    "Trial",
    "equal",
    "formatted",
    "included",
    "pinned",
    "renamed",
    "reordered",
    "resized",
    "scaled",
    "written",
]

_TIMES = ("bottleneck", "throughput", "makespan", "latency", "iteration", "load(", " s ")


@dataclass(frozen=True)
class Trial:
    """A spec that relations are tried on.

    Attributes:
        spec: the spec.
        method: that answers.
        answers: all answers so far.
        seed: of what relations draw.
    """

    spec: Spec
    method: str
    answers: Answers
    seed: int

    @property
    def random(self) -> random.Random:
        """A source of draws, the same each time."""
        return random.Random(self.seed)

    def ask(self, spec: Spec | None = None) -> Answer:
        """Return the method's answer to the spec, or to another one."""
        return self.answers.ask(self.spec if spec is None else spec, self.method)


@dataclass(frozen=True)
class Relation:
    """What must hold between answers.

    Attributes:
        name: for the command line and tables.
        says: what must hold, in a sentence.
        find: yields what contradicts it.
    """

    name: str
    says: str
    find: Callable[[Trial], Iterator[str]]


def equal(one: Answer, two: Answer, factor: float = 1.0) -> Iterator[str]:
    """Yield what contradicts that the optimum of *two* is that of *one* times a factor."""
    if bool(one.refused) != bool(two.refused):
        yield f"refused: one is refused and not the other: {one.refused or two.refused}"
    yield from at_most(one, two, factor)
    yield from at_most(two, one, 1 / factor)


def renamed(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after nodes have got other names."""
    nodes = trial.spec.names("node")
    if any(name.startswith('"') for name in nodes):
        return
    numbers = list(range(len(nodes)))
    trial.random.shuffle(numbers)
    names = {name: f"v{10 + numbers[i]}" for i, name in enumerate(nodes)}
    yield from equal(trial.ask(), trial.ask(trial.spec.renamed(names)))


def reordered(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after nodes, edges, constraints, and devices unless their order counts, were shuffled."""
    kinds = [["node"], ["edge"], ["constraint"]]
    if not trial.spec.has("stages", "target", "break symmetry"):
        kinds.append(["device"])
    lines, draw = list(trial.spec.lines), trial.random
    for kind in kinds:
        places = trial.spec.starting(*kind)
        moved = list(places)
        draw.shuffle(moved)
        for place, other in zip(places, moved, strict=True):
            lines[place] = trial.spec.lines[other]
    yield from equal(trial.ask(), trial.ask(Spec(tuple(lines))))


def scaled(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after all times were multiplied."""
    goals = " ".join(trial.spec.lines[i] + " " for i in trial.spec.starting("minimize", "maximize"))
    factor = trial.random.choice(["2", "0.125", "1000", "0.001", "1000000", "0.000001", "1000000000"])
    timed = any(word in goals for word in _TIMES)
    yield from equal(trial.ask(), trial.ask(trial.spec.scaled(factor)), float(factor) if timed else 1.0)


def resized(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after all sizes and bandwidths were multiplied."""
    yield from equal(
        trial.ask(), trial.ask(trial.spec.resized(trial.random.choice(["2", "0.125", "1000", "0.000001", "1000000"])))
    )


def _same_problem(trial: Trial, text: str | Path) -> Iterator[str]:
    problem = trial.answers.read(trial.spec)
    if problem is None:
        return
    try:
        other = mtpp_dsl.load(text)
    except MtppError as error:
        yield f"not read again: {str(error).splitlines()[0][:200]}"
        return
    yield from (f"read as another problem: {what}" for what in differences(problem, other))


def formatted(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after ``mtpp fmt``."""
    text = format_spec(Source("spec", trial.spec.text))
    yield from _same_problem(trial, text)
    if format_spec(Source("spec", text)) != text:
        yield "formatted again, it changes"


def written(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after ``to_spec``."""
    problem = trial.answers.read(trial.spec)
    if problem is not None:
        try:
            text = problem.to_spec()
        except MtppError as error:
            yield f"not written: {str(error).splitlines()[0][:200]}"
            return
        yield from _same_problem(trial, text)


def included(trial: Trial) -> Iterator[str]:
    """Yield what is wrong after the graph and some statements were moved to a file that the rest includes."""
    lines = trial.spec.lines
    begin, end = lines.index("graph {"), lines.index("}") + 1
    rest = lines[:begin] + lines[end:]
    cut = trial.random.randint(0, len(rest))
    with TemporaryDirectory() as folder:
        (Path(folder) / "part.mtpp").write_text(Spec(lines[begin:end] + rest[:cut]).text, encoding="utf-8")
        path = Path(folder) / "spec.mtpp"
        path.write_text(Spec(('include "part.mtpp"', *rest[cut:])).text, encoding="utf-8")
        yield from _same_problem(trial, path)


def pinned(trial: Trial) -> Iterator[str]:
    """Yield what is wrong beside the problems in which a node is pinned to each device in turn."""
    devices = trial.spec.names("device")
    whole = trial.ask()
    if len(devices) > 6 or whole.problem is None:
        return
    node = trial.random.choice(trial.spec.names("node"))
    parts = [trial.ask(trial.spec.with_line(f"constraint pin {node} on {d}")) for d in devices]
    for part in parts:
        yield from at_most(whole, part)
    if whole.cost is None or trial.spec.has("copies", "replicate", "shard", "batch =") or any(p.refused for p in parts):
        return
    bounds = [part.bound for part in parts if not part.infeasible]
    if not bounds:
        yield f"false infeasible: with {node} pinned to each device in turn, and there is a plan of {whole.cost!r}"
    elif all(bound is not None for bound in bounds):
        best = min((part for part in parts if not part.infeasible), key=lambda part: part.bound or 0.0)
        yield from at_most(best, whole)
