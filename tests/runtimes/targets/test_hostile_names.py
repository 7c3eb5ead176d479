"""Names that harm in what is exported: they are read back as they are or refused, and nobody's screen obeys them."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from dataclasses import replace
from random import Random
from xml.etree import ElementTree

import pytest

from mtpp_dsl.core.contracts.targets import Stamp
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.text.visible import visible
from mtpp_dsl.runtimes.targets.node_tables import Csv, DotTarget
from mtpp_dsl.runtimes.targets.torch_stages import stages_text
from tests.hostile_names import HOSTILE, hostile_problem
from tests.runtimes.targets.splits import forms, split, stack, target_of

MORE = (
    *HOSTILE,
    "# no comment",
    "graph",
    "node",
    "->",
    "a // b",
    "a /* b */",
    "\\u202e",
    "]",
    "x;",
)
STAMP = Stamp("a\n.mtpp", MORE, 1.5, 1.25, "bottleneck", "s", model_name='"""\n\u202e\\', answer="\x1b[2J")


def named(name: str) -> Problem:
    """Return a stack of layers whose first layer and devices have a hostile name."""
    problem = stack(Random(1), 2)
    graph, hostile = problem.graph, f"layer[0].{name}"
    names = [hostile if v == 1 else old for v, old in enumerate(graph.names)]
    made = Graph.create(names, [*zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)], work=graph.work,
                        params=graph.params, output=graph.output)  # fmt: skip
    devices = [replace(problem.devices[0], name=name), problem.devices[1]]
    return Problem.create(made, devices, problem.interconnect)


def check(form: str, problem: Problem, plan: Plan) -> bool:
    """Return whether a plan is written; fail if what is written is not the plan, or has what is not seen."""
    target = target_of(form)
    try:
        files = target.export(problem, plan, STAMP)
    except UsageError:
        return False
    for text in files.values():
        assert isinstance(text, str)
        assert visible(text) == text
        assert text.encode()
    text = str(next(iter(files.values())))
    assert target.read(text, problem).assignment == tuple(plan.assignment.tolist())
    if form in ("vllm", "sglang", "llama-cpp"):
        commands = [line for line in text.splitlines() if not line.startswith("#")]
        assert all(line.startswith(("export ", "vllm ", "python ", "llama-server ")) for line in commands)
    if form == "deepspeed":
        assert ast.parse(text)
    if form == "torchtitan":
        assert ast.parse(text)
    if form == "device-map":
        assert all(json.loads(str(content)) for content in files.values())
    return True


@pytest.mark.parametrize("form", forms())
def test_hostile_names_are_read_back_or_refused(form: str) -> None:
    """Of layers and devices one by one, and of nodes all at once."""
    written = 0
    for name in MORE:
        try:
            problem = named(name)
            plan = split(target_of(form), problem, Random(3))
        except UsageError:
            continue
        written += check(form, problem, plan)
    assert written >= len(MORE) // 2, "nearly all are refused"
    for names in (MORE, tuple(name for name in MORE if visible(name) == name)):
        problem = hostile_problem(names)
        done = check(form, problem, Plan.create(problem, [v % 2 for v in range(len(names))]))
    assert done or form not in ("csv", "dot")


def test_tables_say_what_they_cannot_show() -> None:
    problem = hostile_problem(("a", "b", "c", "turned \u202e"))
    plan = Plan.create(problem, [0, 1, 0, 1])
    with pytest.raises(UsageError, match=r"a table cannot show the name of node 'turned \\u202e'.*write dot"):
        Csv().export(problem, plan, STAMP)


def test_files_of_python_stay_python() -> None:
    assert visible(stages_text(STAMP)) == stages_text(STAMP)
    assert ast.parse(stages_text(STAMP))


def test_graphviz_draws_hostile_names() -> None:
    """Every name is drawn as a page shows it, and the picture is XML."""
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("Graphviz is not installed")
    problem = hostile_problem(MORE)
    text = str(DotTarget().export(problem, Plan.create(problem, [v % 2 for v in range(len(MORE))]), STAMP)["plan.dot"])
    done = subprocess.run([dot, "-Tsvg"], input=text.encode(), capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
    drawn = [each.text for each in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}text")]
    for name in ("<script>document.title='taken'</script>", "]]><!-- &amp; &#60; -->", "turned ��txet� round",
                 "\\end{document} $x_1$ %d {0} \\u003c", "node", "\\u202e"):  # fmt: skip
        assert name in [text.replace("\xa0", " ") for text in drawn if text], name
