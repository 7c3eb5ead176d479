"""``mtpp check``: what a spec is, which methods fit, and warnings of what is a mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mtpp_dsl.cli.parameters import complete_method, complete_solver
from mtpp_dsl.cli.run import run
from mtpp_dsl.solving.api import find_method, load, method_names
from tests.tree import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.mtpp"))
QUICK, UNEQUAL = ROOT / "examples" / "quickstart.mtpp", ROOT / "examples" / "unequal.mtpp"
REST = "device d[2]\ninterconnect shared (bandwidth = 1 GB/s)\nminimize bottleneck\n"
WORKS = "graph { node a (work = 1 ms) }\n"
TAKES = "graph { node a (work = 1 ms, params = 1 MB) }\n"
LIMITED = REST.replace("d[2]", "d[2] (memory = 1 GB)")


def checked(
    path: Path, capsys: pytest.CaptureFixture[str], *options: str, verdict: str = "the spec is sound"
) -> dict[str, list[str]]:
    """Return what is said under each label."""
    assert run(["check", str(path), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: {verdict}"
    found: dict[str, list[str]] = {}
    for line in lines[2:]:
        label, _, text = line.partition("  ")
        found.setdefault(label, []).append(text.strip())
    return found


def test_facts(capsys: pytest.CaptureFixture[str]) -> None:
    """A spec is described in its own units: sizes, total work and memory against what there is."""
    found = checked(QUICK, capsys, "-D", "k=4")
    assert found["objective"] == ["minimize bottleneck"]
    assert found["graph"] == ["10 nodes, 13 edges"]
    assert found["devices"] == ["4: stage[0..3]"]
    assert found["constraints"] == ["acyclic, memory"]
    assert found["work"] == ["38 ms in all; 9.5 ms a device if it could be spread evenly"]
    assert found["memory"] == ["565 MiB of 1 GiB (55 %)"]
    assert found["params"] == ["k = 4"]


def test_members_of_constraints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each constraint it is said how many nodes its members are, where that is not one; of many with --verbose."""
    spec = tmp_path / "many.mtpp"
    nodes = "graph { node h[i in 0..3, j in 0..2] (work = 1 ms) node z (work = 1 ms) }\n"
    rows = "constraint pin h[i] on d for i in 0..3\nconstraint pin z on d\n"
    rows += "constraint one: sum(on(v, d[0]) for v in h) <= 9"
    spec.write_text(f"{nodes}{REST}{rows}\n" + "constraint colocate h[0], z\n")
    assert checked(spec, capsys)["members"] == [
        f"pin ({spec}:5): h[i] is 3 nodes, 4 times",
        f"one ({spec}:7): h is 12 nodes",
        f"colocate ({spec}:8): h[0] is 3 nodes",
    ]
    spec.write_text(nodes + REST + "".join(f"constraint pin h[0..{i % 3 + 1}] on d\n" for i in range(20)))
    assert len(checked(spec, capsys, "--verbose")["members"]) == 20
    assert checked(spec, capsys)["members"][-1] == "and 8 more: --verbose"


def test_large_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of devices and of constraints are written as those of nodes are."""
    spec = tmp_path / "many.mtpp"
    spec.write_text(
        "graph { node a (work = 1) node b }\ndevice d[1002]\ninterconnect shared (bandwidth = 1)\n"
        "minimize bottleneck\nconstraint forbid a on d[i] for i in 1..1001\n"
    )
    assert run(["check", str(spec)]) == 0
    out = capsys.readouterr().out
    assert "1,002: d[0..1001]" in out
    assert "forbid ×1,001" in out


def test_family_of_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spec is answered in the powers of the largest unit that it writes: GB of MB and GB, and of MiB and GB."""
    spec = tmp_path / "a.mtpp"
    for size, limit, shown in (
        ("100 MB", "1 GB", "100 MB of 2 GB (5 %)"),
        ("100 MiB", "1 GB", "104.86 MB of 2 GB (5 %)"),
        ("100 MB", "1 GiB", "95.367 MiB of 2 GiB (5 %)"),
    ):
        spec.write_text(TAKES.replace("1 MB", size) + LIMITED.replace("1 GB)", f"{limit})", 1) + "constraint memory\n")
        assert checked(spec, capsys)["memory"] == [shown]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_few_methods(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """auto says what it would try, each of which accepts the problem; little else is named, and nothing that cannot."""
    problem = load(path)
    (told,) = checked(path, capsys)["auto"] if not problem.warnings else ("tries",)
    for one in map(problem.asking, problem.objectives):
        steps = find_method("auto").outline(one)  # type: ignore[attr-defined]
        assert steps
        assert all(step in told or problem.warnings for step in steps)
        assert all(find_method(step).accepts(one) is None for step in steps if step != "slicegraph")  # of a part


def test_auto_does_what_it_says() -> None:
    """The method whose bound settles an answer of auto is one that it has named."""
    from mtpp_dsl.solving.api import solve

    problem = load(QUICK)
    bound = solve(problem, time_limit=20.0).bound
    assert bound is not None
    assert bound.method in find_method("auto").outline(problem)  # type: ignore[attr-defined]


def test_all_methods(capsys: pytest.CaptureFixture[str]) -> None:
    """With --verbose every method is named once, those that cannot with their reason, each reason once."""
    found = checked(UNEQUAL, capsys, "--verbose")
    reasons = [text.partition(":")[2] for text in found["cannot"]]
    assert len(set(reasons)) == len(reasons)
    assert sum("minimises a bottleneck, not the makespan of one sample" in reason for reason in reasons) == 1
    able = [name for kind in ("solve it", "plan", "bound", "compare") for name in found[kind][0].split(", ")]
    unable = [name for text in found["cannot"] for name in text.partition(":")[0].split(", ")]
    assert sorted([*able, *unable]) == sorted(method_names())


def test_nothing_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no plan, the first thing to be known, it is said; --quiet says nothing of a sound spec."""
    spec = tmp_path / "a.mtpp"
    spec.write_text(TAKES.replace("1 MB", "3 GB") + LIMITED + "constraint memory\n")
    found = checked(spec, capsys, verdict="the spec is well formed, but no plan can meet it")
    assert "3 GB" in found["no plan"][0]
    assert run(["check", str(spec), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("param k: int = 3\n" + WORKS + REST, "1:7: ", "param 'k' is never used"),
        ("let heavy = { v in nodes }\n" + WORKS + REST, "1:5-9: ", "let 'heavy' is never used"),
        ("# k is 3\nparam k = 3\n" + WORKS + REST, "2:7: ", "param 'k' is never used"),
        ("graph { node a (output = 1 MB) }\n" + REST, "1:1", "there is no work to split"),
        (WORKS + LIMITED, "2:23-26: ", "no constraint uses it: say 'constraint memory'"),
        (WORKS + LIMITED + "constraint memory", "5:1-17: ", "no node takes any memory"),
        (WORKS + LIMITED.replace("GB/s", "GB/s, overflow = stream"), "3:1", "no node takes any memory"),
    ],
)
def test_warnings(text: str, place: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said to no effect is warned of once, at its place, with the line."""
    spec = tmp_path / "a.mtpp"
    spec.write_text(text)
    assert run(["check", str(spec)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{spec}: the spec is sound, with 1 warning\n")
    head, source, caret = err.splitlines()[:3]
    assert head.startswith(f"{spec}:{place}")
    assert ": warning[MTPP-W" in head
    assert message in head
    assert re.match(r" +\d+ \| ", source)
    assert "^" in caret


@pytest.mark.parametrize(
    "text",
    [
        "param k: int = 2\n" + WORKS + REST.replace("d[2]", "d[k]"),
        'param f: path = "w.json"\nimport f (format = msr)\nminimize bottleneck\n',
        "param p = 1\nparam q = p\nlet c = q\n" + WORKS + REST + "constraint x: load(d[0]) <= c * 1 s\n",
        "let never = 1\n"
        + WORKS
        + REST
        + 'constraint x: load(d[0]) <= 9 s + sum(never * 1 s for v in nodes if kind(v) == "no")\n',
        TAKES + LIMITED + "constraint x: forall e in devices: sum(params(v) * on(v, e) for v in nodes) <= memory(e)\n",
        TAKES + REST + "constraint x: forall e in devices: sum(params(v) * on(v, e) for v in nodes) <= 1 MB\n",
        TAKES + LIMITED + "constraint memory on d[0]\n",
        TAKES + REST,
    ],
)
def test_no_false_alarm(text: str, tmp_path: Path) -> None:
    """What is read in any way is not warned of: in a branch that no node takes, by a file's name, in algebra."""
    (tmp_path / "w.json").write_text(MSR)
    spec = tmp_path / "a.mtpp"
    spec.write_text(text)
    assert load(spec).warnings == ()


MSR = """{"maxSizePerFPGA": 10, "maxFPGAs": 1, "maxCPUs": 0, "nodes":
[{"id": 1, "supportedOnFpga": 1, "cpuLatency": 2, "fpgaLatency": 1, "isBackwardNode": 0, "size": 1, "colorClass": 1},
{"id": 2, "supportedOnFpga": 1, "cpuLatency": 2, "fpgaLatency": 1, "isBackwardNode": 0, "size": 1, "colorClass": 2}],
"edges": [{"sourceId": 1, "destId": 2, "cost": 1}]}"""


def test_included_names_may_be_unread(tmp_path: Path) -> None:
    """A file of definitions may hold more than the spec that includes it needs."""
    (tmp_path / "names.mtpp").write_text("param k = 3\nlet all = { v in nodes }\n")
    spec = tmp_path / "a.mtpp"
    spec.write_text('include "names.mtpp"\n' + WORKS + REST)
    assert load(spec).warnings == ()


def test_completion() -> None:
    """The shell completes the names of methods and solvers."""
    assert complete_method("bran") == ["branching", "branch-and-bound"]
    assert "exact" in complete_method("")
    assert complete_solver("hi") == ["highs"]


def test_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command takes -q, and says then only what is wrong, or names alone."""
    answer, ugly = tmp_path / "a.json", tmp_path / "ugly.mtpp"
    ugly.write_text("device  d # one\n")
    assert run(["solve", str(QUICK), "--method", "single-device", "--json", str(answer), "-q"]) in (0, 4)
    assert run(["solve", str(QUICK), "--method", "ideals", "--json", str(answer), "-q"]) == 0
    assert run(["verify", str(QUICK), str(answer), "-q"]) == 0
    assert run(["fmt", "-q", str(ugly)]) == 0
    assert capsys.readouterr() == ("", "")
    assert ugly.read_text() == "device d  # one\n"
    assert run(["methods", "-q"]) == 0
    assert capsys.readouterr().out.splitlines() == list(method_names())
    assert run(["solvers", "--quiet"]) == 0
    assert "highs" in capsys.readouterr().out.splitlines()


def test_unknown_method(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown method is answered with the few that are spelt alike, and where all are listed."""
    assert run(["solve", str(QUICK), "--method", "pipedeam"]) == 2
    err = capsys.readouterr().err
    assert "did you mean 'pipedream'" in err
    assert len(re.findall(r"'[^']+'", err)) <= 4  # the one asked for, and three
    assert "mtpp methods" in err
