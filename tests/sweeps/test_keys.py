"""Keys of runs: what changes them, and what does not; and specs that change under a sweep."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mtpp_dsl.core.contracts.traits import method_traits
from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.solving.api import find_method, method_names
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.keys import check_unchanged
from mtpp_dsl.sweeps.file.problem_files import Changed, problem_of
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.file.sweep import parts_of, shard_of, with_time_limit
from mtpp_dsl.sweeps.run import one_run

SWEEP = """mtpp-sweep = 1
name = "first"
seeds = 7
methods = [{ name = "expert", start = "plan.json" }, { name = "slicegraph", label = "s", options = { moves = 5 } }]
[[problems]]
spec = "spec.mtpp"
params = { file = "g.json", k = 2 }
scenario = ["", "slow"]
name = "{stem}-{scenario}"
"""
FILES = {
    "sweep.toml": SWEEP,
    "spec.mtpp": """include "rest.mtpp"
param k: int
param file: path
graph from file (format = graph)
device d[k]
""",
    "rest.mtpp": """interconnect shared (bandwidth = 1)
minimize bottleneck
scenario slow { times from "t.csv" (unit = s) }
""",
    "g.json": '{"format": "mtpp-graph", "version": 1, "nodes": [{"name": "a", "work": 1}], "edges": []}',
    "t.csv": "device,node,time\nd[0],a,1\n",
    "plan.json": '{"a": "d[0]"}',
}


def folder(path: Path, **changed: str) -> Path:
    path.mkdir()
    for name, text in {**FILES, **changed}.items():
        (path / name).write_text(text)
    return path


def keys(path: Path) -> list[str]:
    return [run.key for run in expand(read_sweep(path / "sweep.toml"))]


def test_keys_are_of_contents_not_of_places(tmp_path: Path) -> None:
    """Moving the folder, renaming the sweep, a problem or a method, and another data file beside change no key."""
    first = folder(tmp_path / "a")
    shutil.copytree(first, tmp_path / "b" / "c")
    named = SWEEP.replace('"first"', '"second"').replace('label = "s"', 'label = "t"').replace("{stem}-", "x-")
    renamed = folder(tmp_path / "d", **{"sweep.toml": named.replace("g.json", "h.json"), "other.mtpp": "mtpp 1\n"})
    (renamed / "g.json").rename(renamed / "h.json")
    found = keys(first)
    assert len({*found}) == 4
    assert keys(tmp_path / "b" / "c") == found
    assert keys(renamed) == found


@pytest.mark.parametrize(
    ("file", "before", "after", "how_many"),
    [
        ("spec.mtpp", "device", "device ", 4),
        ("rest.mtpp", "bandwidth = 1", "bandwidth = 2", 4),
        ("g.json", '"work": 1', '"work": 2', 4),
        ("t.csv", ",1\n", ",2\n", 4),
        ("plan.json", '"d[0]"', '"d[1]"', 2),
        ("sweep.toml", "k = 2", "k = 3", 4),
        ("sweep.toml", "seeds = 7", "seeds = 8", 2),
        ("sweep.toml", "moves = 5", "moves = 6", 2),
        ("sweep.toml", "seeds = 7", 'seeds = 7\ntime_limit = "9s"', 4),
        ("sweep.toml", "seeds = 7", 'seeds = 7\nmemory_limit = "9 GB"', 4),
        ("sweep.toml", "seeds = 7", 'seeds = 7\ngap = "9%"', 4),
        ("sweep.toml", "seeds = 7", "seeds = 7\nthreads = 9", 4),
        ("sweep.toml", '"slicegraph"', '"slicegraph", coarsen = "gcof"', 2),
    ],
)
def test_keys_change_with_all_that_changes_answers(
    tmp_path: Path, file: str, before: str, after: str, how_many: int
) -> None:
    assert before in FILES[file]
    old = keys(folder(tmp_path / "a"))
    new = keys(folder(tmp_path / "b", **{file: FILES[file].replace(before, after, 1)}))
    assert len({*new} - {*old}) == how_many


def test_files_among_options_count_by_their_contents(tmp_path: Path) -> None:
    """The policy of placeto is a path from the folder of the sweep; its contents are in the key."""
    text = SWEEP.replace(
        'name = "slicegraph", label = "s", options = { moves = 5 }', 'name = "placeto", options.policy = "p"'
    )
    home = folder(tmp_path / "a", **{"sweep.toml": text, "p": "1"})
    copy = folder(tmp_path / "b", **{"sweep.toml": text.replace('policy = "p"', 'policy = "q"'), "q": "1"})
    before = keys(home)
    assert keys(copy) == before
    later(home / "p", "2")
    assert len({*keys(home)} - {*before}) == 2
    (home / "p").unlink()
    with pytest.raises(UsageError, match="policy = p: there is no such file"):
        keys(home)


def later(path: Path, text: str) -> None:
    """Write a file, with another time stamp than it had, however coarse the clock is."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("spec.mtpp", lambda text: text + "# more\n"),
        ("spec.mtpp", lambda _: "nonsense"),
        ("rest.mtpp", lambda text: text.replace("= 1", "= 2")),
        ("g.json", lambda text: text.replace("1}", "2}")),
        ("g.json", lambda _: "nonsense"),
        ("t.csv", lambda text: text.replace(",1", ",2")),
        ("g.json", None),
        ("spec.mtpp", None),
    ],
)
def test_a_spec_that_changes_under_a_sweep_is_found_out(
    tmp_path: Path, file: str, change: Callable[[str], str] | None
) -> None:
    home = folder(tmp_path / "a")
    run = expand(read_sweep(home / "sweep.toml"))[0]
    assert problem_of(run).graph.n == 1
    if change is None:
        (home / file).unlink()
    else:
        later(home / file, change(FILES[file]))
    with pytest.raises(Changed):
        problem_of(run)
    later(home / file, FILES[file]) if change is not None else (home / file).write_text(FILES[file])
    assert problem_of(run).graph.n == 1


@pytest.mark.parametrize("file", ["plan.json", "rules.toml", "p"])
@pytest.mark.parametrize("change", ["before", "while it is solved", "removed"])
def test_a_file_of_the_method_that_changes_under_a_sweep_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, change: str
) -> None:
    """The plan to start from, fusion rules, and a file that an option names are in the key, too."""
    methods = {
        "plan.json": '{ name = "expert", start = "plan.json" }',
        "rules.toml": '{ name = "expert", start = "plan.json", coarsen = "rules.toml" }',
        "p": '{ name = "placeto", options.policy = "p" }',
    }
    text = SWEEP.replace(SWEEP[SWEEP.index("methods") : SWEEP.index("[[")], f"methods = [{methods[file]}]\n")
    rules = 'rules = [["conv", "relu"]]\n'
    home = folder(tmp_path / "a", **{"sweep.toml": text, "rules.toml": rules, "p": "1"})
    run = expand(read_sweep(home / "sweep.toml"))[0]
    check_unchanged(Run.from_json(json.loads(json.dumps(run.to_json()))))

    def changed(*_: object, **__: object) -> None:
        later(home / file, (home / file).read_text() + " ") if change != "removed" else (home / file).unlink()

    if change == "while it is solved":
        monkeypatch.setattr(one_run, "solve", changed)
    else:
        changed()
    if change == "while it is solved" and file == "p":
        monkeypatch.setattr(one_run, "method_of", lambda _: find_method("heft"))
    outcome = one_run.attempt(run)
    assert outcome.status == "changed", outcome.error
    assert file in outcome.error


def test_files_of_one_name_are_told_apart_by_who_reads_them(tmp_path: Path) -> None:
    """Contents that change places make another problem, and so does another param for the same file."""
    spec = """mtpp 1
include "one/part.mtpp"
include "two/part.mtpp"
param c: table from "c.csv"
graph { node a (work = one[0].v + 10 * two[0].v + 100 * c[0].v) }
device d
interconnect shared (bandwidth = 1)
minimize bottleneck
"""
    given = ["", 'params = { one = "x.csv" }', 'params = { two = "x.csv" }', 'params = { c = "x.csv" }']
    entries = [f'[[problems]]\nspec = "spec.mtpp"\nname = "p{i}"\n{one}\n' for i, one in enumerate(given)]
    text = 'mtpp-sweep = 1\nname = "s"\nmethods = ["simple"]\n' + "".join(entries)
    for name, value in (("one/t", 1), ("two/t", 2), ("c", 3), ("x", 4)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.csv").write_text(f"n,v\nr,{value}\n")
    for name in ("one", "two"):
        (tmp_path / name / "part.mtpp").write_text(f'mtpp 1\nparam {name}: table from "t.csv"\n')
    (tmp_path / "spec.mtpp").write_text(spec)
    (tmp_path / "sweep.toml").write_text(text)
    before = keys(tmp_path)
    assert len({*before}) == 4
    (tmp_path / "one" / "t.csv").write_text("n,v\nr,2\n")
    (tmp_path / "two" / "t.csv").write_text("n,v\nr,1\n")
    assert not {*keys(tmp_path)[:1], keys(tmp_path)[3]} & {*before}


def test_formats_of_several_files_are_hashed_as_they_are_read(tmp_path: Path) -> None:
    """What a graph is read from beside the file that is named counts: the edges beside the nodes of a CSV pair."""
    spec = FILES["spec.mtpp"].replace("(format = graph)", "")
    sweep = SWEEP.replace('"g.json"', '"g.nodes.csv"').replace('scenario = ["", "slow"]\n', "")
    home = folder(
        tmp_path / "a",
        **{
            "spec.mtpp": spec,
            "sweep.toml": sweep,
            "g.nodes.csv": "name,work\na,1\nb,1\n",
            "g.edges.csv": "source,target\na,b\n",
        },
    )
    run = expand(read_sweep(home / "sweep.toml"))[0]
    assert problem_of(run).graph.m == 1
    later(home / "g.edges.csv", "source,target\nb,a\n")
    with pytest.raises(Changed):
        problem_of(run)
    assert keys(home)[0] != run.key


def test_runs_of_texts_read_files_from_the_folder_of_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "mtpp-sweep = 1\nmethods = ['simple']\n[[problems]]\nparams = { file = 'g.json', k = 2 }\n"
    text = f"{head}text = '''\n{FILES['spec.mtpp']}'''\n"
    home = folder(tmp_path / "a", **{"sweep.toml": text})
    monkeypatch.chdir(tmp_path)
    run = expand(read_sweep(Path("a/sweep.toml")))[0]
    monkeypatch.chdir("/")
    assert problem_of(run).k == 2
    assert run.folder == str(home)


def test_runs_survive_json(tmp_path: Path) -> None:
    for run in expand(read_sweep(folder(tmp_path / "a") / "sweep.toml")):
        data = json.loads(json.dumps(run.to_json()))
        assert Run.from_json(data) == run
        for broken in ({**data, "seed": "x"}, {**data, "more": 1}, {**data, "params": []}, {"key": "x"}):
            with pytest.raises(UsageError):
                Run.from_json(broken)


def test_shards_are_the_sweep(tmp_path: Path) -> None:
    runs = expand(read_sweep(folder(tmp_path / "a") / "sweep.toml"))
    parts = [shard_of(runs, number, 3) for number in (1, 2, 3)]
    assert sorted(run.key for part in parts for run in part) == sorted(run.key for run in runs)
    for wrong in ("0/3", "4/3", "1", "1/0", "a/b"):
        with pytest.raises(UsageError):
            parts_of(wrong)


def test_a_time_limit_is_of_every_run(tmp_path: Path) -> None:
    text = SWEEP.replace('label = "s"', 'label = "s", time_limit = "3s"') + 'time_limit = "4s"\n'
    sweep = read_sweep(folder(tmp_path / "a", **{"sweep.toml": text}) / "sweep.toml")
    assert {run.time_limit for run in expand(sweep)} == {3, 4}
    assert {run.time_limit for run in expand(with_time_limit(sweep, 5))} == {5}
    assert {run.time_limit for run in expand(with_time_limit(sweep, None))} == {None}


PROBLEMS = (
    """graph from generator layered (nodes = 7, seed = 1)
device d[3]
interconnect shared (bandwidth = 10)
minimize bottleneck
constraint acyclic
""",
    """graph from generator layered (nodes = 6, seed = 2)
device d[2]
interconnect links (bandwidth = 10, latency = 0.1)
minimize makespan
""",
)


def test_methods_without_a_seed_ignore_it() -> None:
    """What a method says of seeds is true: without one, three seeds give one answer."""
    from mtpp_dsl.solving.api import solve

    seen = set()
    problems = [load(text) for text in PROBLEMS]
    for name, kind in method_names().items():
        method = find_method(name) if kind == "method" else None
        if method is None or method_traits(method).seeded or name in ("branching", "branch-and-bound"):  # which compile
            continue
        for problem in problems:
            try:
                answers = [solve(problem, name, seed=seed, time_limit=20) for seed in (0, 1, 17)]
            except MtppError:
                continue
            seen.add(name)
            costs = {(a.cost, None if a.bound is None else a.bound.cost) for a in answers}
            assert len(costs) == len({str(a.plan) for a in answers}) == 1, (name, costs)
    assert {"heft", "simple", "anchor", "single-device"} <= seen


def test_runs_are_known_by_their_keys(tmp_path: Path) -> None:
    run = expand(read_sweep(folder(tmp_path / "a") / "sweep.toml"))[0]
    assert {run: 1}[replace(run, folder=run.folder)] == 1
    assert issubclass(SpecError, MtppError)
