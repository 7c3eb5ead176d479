"""Memory by stage, iterations and shards in the language: what is read, what is written back, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpp_dsl.core.constraints import Shard, StageMemory
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.problem.objective import Objective
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.language.builder.builder import Builder
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.language.syntax.layout import format_spec
from tests.equal import differences
from tests.staging import random_groups, random_stages

SPEC = """mtpp 1
param M = 8
def law(t) = t / (1 + 0.1 * (t - 1))
graph {
  node l[i in 0..3] (work = 3 ms, params = 1 GB, output = 10 MB, saved = 100 MB, state = 4 * params, forward = 1/3)
  edge l[i] -> l[i + 1] for i in 0..2
}
device g[4] (memory = 10 GB)
interconnect shared (bandwidth = 10 GB/s)
OBJECTIVE
constraint acyclic
RULES
"""


def parsed(text: str) -> Problem:
    """Return the problem of a text."""
    return load(text)


def read(objective: str = "minimize bottleneck", *rules: str) -> Problem:
    """Return the problem of a small spec."""
    return parsed(SPEC.replace("OBJECTIVE", objective).replace("RULES", "\n".join(rules)))


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_problems_are_written_as_they_are_read(seed: int) -> None:
    """A problem that is said in a spec, and read again, is the same; so is the spec when it is formatted."""
    problem = random_stages(seed) if seed % 2 else random_groups(seed)
    text = problem.to_spec()
    assert [*differences(problem, parsed(text))] == []
    assert format_spec(Source("spec", text)) == text


def test_what_options_mean() -> None:
    """Schedules are words or strings; a speed-up is a map or a function; defaults follow from the rest."""
    memory = 'memory on g[0] (schedule = "1f1b", microbatches = M, recompute = free)'
    problem = read('minimize iteration (microbatches = M, schedule = "1f1b")', f"constraint {memory}")
    rule = next(problem.of(StageMemory))
    assert (rule.schedule, rule.microbatches, rule.recompute, rule.devices) == ("1f1b", 8, "free", (0,))
    assert problem.objective == Objective("iteration", microbatches=8, schedule="1f1b")
    assert problem.graph.state[0] == 4e9
    problem = read("minimize iteration", "constraint memory (schedule = gpipe, microbatches = 2)")
    assert (problem.objective.microbatches, problem.objective.schedule) == (2, "gpipe")
    problem = read("maximize throughput (microbatches = 4)")
    assert problem.objective.value(2.0) == 2.0
    assert str(problem.objective) == "maximize throughput of 4 microbatches by gpipe"
    shard = next(read("minimize bottleneck", "constraint shard g by [1, 2, 4] (speedup = {2: 1.8})").of(Shard))
    assert (shard.by, shard.speedup, shard.devices) == ((1, 2, 4), (1.0, 1.8, 4.0), (0, 1, 2, 3))
    shard = next(read("minimize bottleneck", "constraint shard g by [1, 2] (speedup = law)").of(Shard))
    assert shard.faster(2) == pytest.approx(2 / 1.1)


@pytest.mark.parametrize(
    ("objective", "rule", "message"),
    [
        ("minimize bottleneck", "memory (schedule = 1f1b, microbatches = 4)", 'schedule = "1f1b"'),
        ("minimize bottleneck", "memory (schedule = gpipe)", "give it (microbatches = …)"),
        ("minimize bottleneck", "memory (microbatches = 3)", "microbatches needs a schedule"),
        ("minimize bottleneck", "memory (schedule = gpipe, microbatches = 0)", "one microbatch or more; this is 0"),
        ("minimize bottleneck", "memory (schedule = gpip, microbatches = 2)", "did you mean 'gpipe'"),
        ("minimize bottleneck", "memory (schedule = gpipe, microbatch = 2)", "did you mean 'microbatches'"),
        ("minimize bottleneck", "shard g by [1, 2.5]", "a whole number of devices"),
        ("minimize bottleneck", "shard g by []", "the list is empty"),
        ("minimize bottleneck", "shard g by [1, 2] (speedup = 2)", "speedup is a map"),
        ("minimize bottleneck", "shard g by [1, 2] (speedup = {2: -1})", "a number above zero"),
        ("minimize bottleneck", "shard g up to 2", "'shard' is written 'shard d by [1, 2]'"),
        ("minimize iteration", "contiguous", "minimize iteration (microbatches = 8)"),
        ('minimize iteration (microbatches = 2, schedule = "pipedream")', "contiguous", "an iteration never ends"),
        ("maximize throughput (microbatches = 2, batch = 4)", "contiguous", "has microbatches, and no batch"),
        ("maximize throughput (schedule = gpipe)", "contiguous", "schedule needs the number of microbatches"),
        ("maximize iteration (microbatches = 2)", "contiguous", "a plan should minimize iteration"),
    ],
)
def test_what_is_refused(objective: str, rule: str, message: str) -> None:
    """A message says what is missing, or what would be right."""
    with pytest.raises(SpecError) as found:
        read(objective, f"constraint {rule}")
    assert message in str(found.value)


def test_the_bare_schedule_has_a_fix(tmp_path: Path) -> None:
    """The fix of a schedule that begins with a digit puts it into quotation marks."""
    with pytest.raises(SpecError) as found:
        read("minimize bottleneck", "constraint memory (schedule = 1f1b, microbatches = 4)")
    (diagnostic,) = found.value.diagnostics
    assert diagnostic.fix is not None
    assert '"1f1b"' in str(diagnostic.fix)


def test_what_nodes_say_to_no_effect() -> None:
    """Options that no constraint and no objective reads are warned of."""
    warnings = " ".join(read().warnings)
    assert "saved of l[0] has no effect (3 more such nodes)" in warnings
    assert "forward of l[0] has no effect" in warnings
    staged = read("minimize bottleneck", "constraint memory (schedule = gpipe, microbatches = 2)")
    assert "has no effect" not in " ".join(staged.warnings)


def test_the_builder_says_it() -> None:
    """The builder has a method, or an option, for each statement."""
    builder = Builder().node("a", work=1, saved=2).device("g", count=2, memory=4).interconnect("shared", bandwidth=1)
    builder.minimize("iteration", microbatches=4, schedule="1f1b").acyclic()
    builder.fits_memory(schedule="1f1b", microbatches=4, recompute="free").shard("g", [1, 2], speedup={2: 1.8})
    problem = builder.build()
    assert problem.objective.microbatches == 4
    assert next(problem.of(StageMemory)).recompute == "free"
    assert next(problem.of(Shard)).speedup == (1.0, 1.8)
