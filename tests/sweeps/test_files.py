"""Sweep files: what they say, what is wrong in them, and what they never do."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path

import pytest

from mtpp_dsl.core.errors import MtppError, SpecError, UsageError
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.sweeps.file.expansion import expand
from mtpp_dsl.sweeps.file.file import read_sweep
from mtpp_dsl.sweeps.file.toml_text import TomlText
from tests.tree import ROOT

HEAD = 'mtpp-sweep = 1\nmethods = ["heft", "slicegraph"]\n'
CHAIN = """[[problems]]
params = { k = "2..3" }
name = "chain-{k}"
group = "chains"
text = '''
param k: int
graph from generator chain (nodes = 4)
device d[k]
interconnect shared (bandwidth = 1)
minimize bottleneck
'''
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "a.toml"
    path.write_text(text)
    return path


def test_everything_that_a_file_says_is_in_its_runs(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    path = written(
        tmp_path,
        """mtpp-sweep = 1
name = "all"
seeds = [3, 4]
time_limit = "2min"
gap = "1%"
threads = 2
methods = [
  "heft",
  { name = "brkga", options = { population = 5 }, label = "small", time_limit = 7, memory_limit = "none" },
  { name = "exact", solvers = ["highs", "scip"], solver_options = { a = "b" }, seeds = 9, start = "plan.json" },
  { name = "single-device", coarsen = "gcof" },
]
memory_limit = "2 GB"
"""
        + CHAIN
        + """time_limit = "30s"
methods = ["heft", "small", "exact", "single-device (coarsen = gcof)"]
""",
    )
    runs = [run for run in expand(read_sweep(path)) if run.problem == "chain-2"]
    assert [(run.label, run.solver, run.seed, run.time_limit, run.memory_limit) for run in runs] == [
        ("heft", "", 0, 30, 2_000_000_000),
        ("small", "", 3, 7, None),
        ("small", "", 4, 7, None),
        ("exact, highs", "highs", 9, 30, 2_000_000_000),
        ("exact, scip", "scip", 9, 30, 2_000_000_000),
        ("single-device (coarsen = gcof)", "", 0, 30, 2_000_000_000),
    ]
    assert {(run.gap, run.threads, run.sweep, run.group) for run in runs} == {(0.01, 2, "all", "chains")}
    assert (runs[1].options, runs[3].solver_options, runs[3].start) == (
        {"population": 5},
        {"a": "b"},
        "plan.json",
    )


def test_solvers_of_a_sweep_are_for_methods_that_take_them(tmp_path: Path) -> None:
    """Those that a method does not take do not multiply it; a method that takes none of them is refused."""
    text = HEAD.replace("]", ', "superblock", "lns", "auto"]\nsolvers = ["highs", "scip", "cp-sat"]') + CHAIN
    sweep = read_sweep(written(tmp_path, text))
    assert {method.name: method.solvers for method in sweep.methods} == {
        "heft": (),
        "slicegraph": (),
        "superblock": ("highs", "scip"),
        "lns": ("cp-sat",),
        "auto": ("highs", "scip", "cp-sat"),
    }
    with pytest.raises(SpecError, match="none of the solvers of the sweep is for this method"):
        read_sweep(written(tmp_path, text.replace('solvers = ["highs", "scip", "cp-sat"]', 'solvers = "cp-sat"')))


def test_sizes_replace_what_they_name(tmp_path: Path) -> None:
    text = (
        HEAD
        + CHAIN
        + """[[problems]]
generator = "chain"
over = "rest.mtpp"
with = { nodes = [3, 4] }
[sizes.tiny]
methods = ["slicegraph"]
time_limit = "1s"
[[sizes.tiny.problems]]
which = "chains"
params = { k = 5 }
[sizes.none]
problems = [{ which = "chain-{k}", drop = true }]
"""
    )
    (tmp_path / "rest.mtpp").write_text("device d[2]\ninterconnect shared (bandwidth = 1)\nminimize bottleneck\n")
    path = written(tmp_path, text)
    assert [run.problem for run in expand(read_sweep(path))][::2] == [
        "chain-2",
        "chain-3",
        "chain-nodes=3",
        "chain-nodes=4",
    ]
    tiny = expand(read_sweep(path, "tiny"))
    assert [(run.problem, run.label, run.time_limit) for run in tiny] == [
        ("chain-5", "slicegraph", 1),
        ("chain-nodes=3", "slicegraph", 1),
        ("chain-nodes=4", "slicegraph", 1),
    ]
    assert {run.problem for run in expand(read_sweep(path, "none"))} == {"chain-nodes=3", "chain-nodes=4"}
    with pytest.raises(UsageError, match="no size 'tinny'; did you mean 'tiny'"):
        read_sweep(path, "tinny")


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (('methods = ["heft"', 'method = ["heft"'), 2, "has no key 'method'; did you mean 'methods'?"),
        (('"heft"', '"hefd"'), 2, "there is no method 'hefd'; did you mean 'heft'"),
        (('"heft"', '{name = "brkga", options = {populatoin = 5}}'), 2, "did you mean 'population'? (it has"),
        (('"heft"', '{name = "heft", seeds = [0, 1]}'), 2, "draws no random numbers"),
        (('"heft"', '{name = "exact", solver = "higs"}'), 2, "there is no solver 'higs'; did you mean 'highs'"),
        (('"heft"', '{name = "superblock", solver = "cp-sat"}'), 2, "cp-sat"),
        (('"heft"', '"slicegraph"'), 2, "two methods have the label 'slicegraph'"),
        (('"heft"', "7"), 2, "expected the name of a method"),
        (('"2..3"', '"3..2"'), 4, "the range 3..2 is empty: write 2..3"),
        (('"2..3"', '"0..9999999"'), 4, "at most 100,000 are read"),
        (('"2..3"', "[[1]]"), 4, "a list in a list"),
        (("{k}", "{kk}"), 5, "{kk} stands for nothing here; did you mean 'k'?"),
        (("group", "gruop"), 6, "a problem has no key 'gruop'; did you mean 'group'?"),
        (("text =", 'spec = "x.mtpp"\ntext ='), 3, "one of spec, text and generator; this has spec and text"),
        (
            ("params", 'methods = ["heff"]\nparams'),
            4,
            "no method of the sweep has the label 'heff'; did you mean 'heft'?",
        ),
        (("params", 'time_limit = "soon"\nparams'), 4, "'soon' is not a duration"),
        (("params", 'memory_limit = "4 Gb"\nparams'), 4, "is not a size"),
        (("params", 'memory_limit = "4 s"\nparams'), 4, "is not a size"),
        (("params", "threads = 0\nparams"), 4, "is not a whole number from 1"),
        (("params", "seeds = -1\nparams"), 4, "is not a seed"),
        (("params", "over = 'x'\nparams"), 4, "this is for problems with generator"),
        (("mtpp-sweep = 1", "mtpp-sweep = 2"), 1, "this version of mtpp reads 1"),
        (("mtpp-sweep = 1", "mtpp-sweeps = 1"), 1, "it does not say mtpp-sweep = 1; did you mean"),
        (('"heft", ', '"heft"; '), 2, "not TOML"),
    ],
)
def test_what_is_wrong_is_said_in_its_place(tmp_path: Path, change: tuple[str, str], line: int, message: str) -> None:
    path = written(tmp_path, (HEAD + CHAIN).replace(*change, 1))
    with pytest.raises(SpecError) as caught:
        read_sweep(path)
    assert message in str(caught.value)
    assert f"a.toml:{line}:" in str(caught.value)


def test_mistakes_in_a_size_that_is_not_asked_for_are_said(tmp_path: Path) -> None:
    path = written(tmp_path, f'{HEAD}{CHAIN}\n[[sizes.tiny.problems]]\nwhich = "chian"\n')
    with pytest.raises(SpecError, match="no problem has the group or the name 'chian'"):
        read_sweep(path)


def test_mistakes_in_a_text_are_said_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, (HEAD + CHAIN).replace("device", "devcie", 1))
    with pytest.raises(SpecError, match=r"<text> is of the problem at \S*a.toml:\d+"):
        expand(read_sweep(path))


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, (HEAD + CHAIN).replace("group", "gruop").replace("heft", "hefd") + "seed = 1\n")
    with pytest.raises(SpecError) as caught:
        read_sweep(path)
    assert [re.search(r":(\d+):", str(each))[1] for each in caught.value.diagnostics] == ["2", "6", "14"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('name = "chain-{k}"', 'name = "chain"'), "two problems are called 'chain'"),
        (('{ k = "2..3" }', '{ k = 2, kk = "2..3" }'), "has no param 'kk'; did you mean 'k'?"),
        (('"2..3"', '"0..99999"'), "this makes 200,000 runs"),
        (("params", 'scenario = "night"\nparams'), "has no scenario 'night'"),
        (('"heft"', '{name = "expert", start = "{stem}.json"}'), "starts from text-1.json"),
    ],
)
def test_what_cannot_be_expanded_is_refused(
    tmp_path: Path, change: tuple[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtpp_dsl.sweeps.file.expansion.MAX_RUNS", 10_000)
    path = written(tmp_path, (HEAD + CHAIN).replace(*change, 1))
    with pytest.raises(MtppError, match=re.escape(message)):
        expand(read_sweep(path))


@pytest.mark.parametrize(
    "text",
    [
        "mtpp-sweep = 1\na = " + "[" * 5_000 + "]" * 5_000,
        "mtpp-sweep = 1\n" + "a." * 50_000 + "b = 1",
        "mtpp-sweep = 1\na = " + "9" * 100_000,
        "mtpp-sweep = 1\nmethods = 1\nproblems = 1\nsizes = 1",
        "mtpp-sweep = 1\nmethods = [{}]\nproblems = [{}]\n[sizes.a]\nproblems = 1",
        'mtpp-sweep = 1\nmethods = ["os:system"]\n[[problems]]\ntext = "x"',
        'mtpp-sweep = 1\nmethods = [{name = "heft", options = {__class__ = 1}}]\n[[problems]]\ntext = "x"',
        'mtpp-sweep = 1\nmethods = ["heft"]\n[[problems]]\nspec = "x.mtpp"\nname = "{stem.__class__}"',
        'mtpp-sweep = 1\nmethods = ["heft"]\n[[problems]]\ngenerator = "chain"\nover = "a\\n"\nwith = {"x = 1)" = 1}',
        'mtpp-sweep = 1\nmethods = ["heft"]\nname = "\\u001b[2J"\n[[problems]]\ntext = "x"',
    ],
)
def test_crafted_files_are_refused(tmp_path: Path, text: str) -> None:
    """Nothing in a file is executed, formatted with attributes, or taken without being asked for."""
    with pytest.raises((SpecError, UsageError)):
        expand(read_sweep(written(tmp_path, text)))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gone.mtpp", "there is no file gone.mtpp"),
        ("gone/*.mtpp", "there is no file like gone/*.mtpp"),
        ("/**/*.mtpp", "does not begin at the root"),
        ("a.toml", "expected a number"),
    ],
)
def test_globs_without_a_spec_are_refused(tmp_path: Path, spec: str, message: str) -> None:
    with pytest.raises(MtppError, match=re.escape(message)):
        expand(read_sweep(written(tmp_path, HEAD + f'[[problems]]\nspec = "{spec}"\n')))


def test_a_spec_whose_name_has_two_lines_is_refused(tmp_path: Path) -> None:
    """It would be taken for a text, and its run for that of another file with the same contents."""
    (tmp_path / "a\nb.mtpp").write_text("mtpp 1\n")
    text = 'mtpp-sweep = 1\nmethods = ["heft"]\n[[problems]]\nspec = "*.mtpp"'
    with pytest.raises(UsageError, match="the name of a spec in a sweep is one line"):
        expand(read_sweep(written(tmp_path, text)))


def test_nothing_is_read_but_what_is_named(tmp_path: Path) -> None:
    """A pipe or a device in place of a file is refused, not waited for; `$HOME` and `~` are names like others."""
    for spec in ("/dev/zero", "$HOME/x.mtpp", "~/x.mtpp", "${HOME}/x.mtpp"):
        path = written(tmp_path, HEAD + f'[[problems]]\nspec = "{spec}"\n')
        with pytest.raises(UsageError, match="there is no file"):
            expand(read_sweep(path))


def test_places_of_keys() -> None:
    text = TomlText(
        Source("s", 'a = 1\n[b.c]\nd.e = """\nx = 1\n"""\n[[f]]\n[[f]]\n[f.g]\n"h i" = [\n {j = 1},\n]\n# k = 1\nl=2\n')
    )
    keys = [("a",), ("b", "c"), ("b", "c", "d", "e"), ("f", 0), ("f", 1), ("f", 1, "g")]
    keys += [("f", 1, "g", "h i", 0, "j"), ("f", 1, "g", "l")]
    assert [text.source.position(text.span(key).start)[0] for key in keys] == [1, 2, 3, 6, 7, 8, 9, 13]


def test_shipped_example_expands() -> None:
    sweep = read_sweep(ROOT / "examples" / "sweep.toml")
    assert sweep.settings.time_limit is not None
    assert sweep.settings.time_limit < inf
    assert len(expand(read_sweep(ROOT / "examples" / "sweep.toml", "tiny"))) < len(expand(sweep))
