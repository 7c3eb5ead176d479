"""Tables of runs: what is in a cell, what is said below, and every form in which they are written."""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.sweeps.tables.figures import Column, FigureRule
from mtpp_dsl.sweeps.tables.measures import MEASURES
from mtpp_dsl.sweeps.tables.page_rows import with_together
from mtpp_dsl.sweeps.tables.rendering import latex_escaped, table_lines, to_csv, to_latex, to_markdown
from mtpp_dsl.sweeps.tables.runs import Runs
from mtpp_dsl.sweeps.tables.tables import make_table
from tests.sweeps.made_runs import columns

FEW = Runs(
    columns(
        {"problem": "a", "label": "heft", "value": 2.0},
        {"problem": "b", "label": "heft", "value": 8.0},
        *({"problem": "a", "label": "sa", "value": 1.0 + seed, "seed": seed} for seed in range(3)),
        {"problem": "b", "label": "sa", "value": 4.0, "seed": 0},
        {"problem": "b", "label": "sa", "status": "memory", "value": None, "seed": 1},
        {"problem": "b", "label": "sa", "value": 4.0, "seed": 2},
    )
)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_a_cell_says_how_many_runs_it_is_of():
    table = make_table(FEW, "problem", [Column(by="label", spread=True)])
    assert table.head == ("problem", "heft", "sa")
    assert texts(table) == [["a", "2", "2 [1, 3]"], ["b", "8", "4 (2 of 3) [4, 4]"]]
    assert "(2 of 3): so many of the runs have a figure, and it is of these alone." in table.notes
    assert [cell.best for row in table.rows for cell in row] == [False] * 6, "equal in a, and sa is incomplete in b"


def test_failed_runs_count_as_the_rule_says():
    def cell(show, failed, over=""):
        table = make_table(FEW, "label", [Column(show=show, rule=FigureRule(over, "mean", failed))])
        return table.rows[1][1].text

    assert cell("seconds", "say") == "0.500 (5 of 6)"
    assert cell("seconds", "none") == "out of memory"
    assert cell("seconds", "par2", "mean") == f"{(0.5 + (0.5 + 20 + 0.5) / 3) / 2:.2f} (1 failed)"
    ratio = math.sqrt((1 + 2 + 3) / 3 * (1 + 10 + 1) / 3)
    assert cell("ratio", "par10") == f"{ratio:.3f} (1 failed)"
    with pytest.raises(UsageError, match="par10 is for times and for ratios"):
        cell("value", "par10")
    with pytest.raises(UsageError, match="do not count as 'dropped'"):
        FigureRule(failed="dropped")


def test_wins_are_counted_seed_by_seed():
    table = make_table(FEW, "label", [Column(show="wins"), Column(show="solved")])
    # a: sa has 1 and 2 (a tie) and loses with 3; b: heft wins where sa failed
    assert texts(table) == [["heft", "1 of 2", "2 of 2"], ["sa", "1.3 of 2", "1.7 of 2"]]


def test_problems_that_a_method_never_tried_are_said():
    runs = Runs(columns({"problem": "a"}, {"problem": "b"}, {"problem": "a", "label": "sa"}))
    table = make_table(runs, "label", [Column()])
    assert "sa has no runs of 1 of 2 problems: b." in table.notes
    common = make_table(runs, "label", [Column()], common=True)
    assert "Only 1 of 2 problems count: those on which every method has a figure." in common.notes
    assert [cell[1].figure.problems for cell in common.rows] == [1, 1]


def test_runs_that_cannot_all_be_right_are_said():
    runs = Runs(
        columns(
            {"label": "x", "value": None, "bound": 1.5, "status": "bound"},
            {"value": 1.2},
            {"label": "y", "value": None, "status": "infeasible"},
        )
    )
    notes = make_table(runs, "label", [Column()]).notes
    assert "p: x has bound 1.5, and a plan has value 1.2: one of both is wrong" in notes
    assert "p: y says that there is no plan, and another run has one of value 1.2" in notes
    up = Runs(columns({"sense": "maximize", "value": 1.0, "bound": 1.1}, {"sense": "maximize", "label": "b"}))
    assert not [note for note in make_table(up, "label", [Column()]).notes if "wrong" in note]


def test_a_proof_that_there_is_no_plan_is_no_failure():
    runs = Runs(columns({"problem": "a"}, {"problem": "b", "status": "infeasible", "value": None}))
    assert texts(make_table(runs, "label", [Column(), Column(show="proved")])) == [["heft", "1", "1 of 2"]]
    assert texts(make_table(runs, "problem", [Column()]))[1] == ["b", "infeasible"]


@pytest.mark.parametrize("show", MEASURES)
def test_every_measure_has_a_figure_or_a_reason(show):
    rows = [
        {"problem": problem, "label": label, "status": status, "value": value, "bound": bound, "gap": None}
        for problem, (label, status, value, bound) in product(
            "ab",
            [
                ("x", "optimal", 2.0, 2.0),
                ("y", "refused", None, None),
                ("z", "bound", None, 1.0),
                ("w", "killed", 2, 2),
            ],
        )
    ]
    table = make_table(Runs(columns(*rows)), "label", [Column(show=show)])
    assert all(row[1].text for row in table.rows)
    for form in (to_markdown, to_latex, to_csv):
        assert form(table)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 2), st.floats(1, 9)), min_size=1)
)
def test_figures_by_brute_force(drawn):
    rows = {(problem, label, seed): value for problem, label, seed, value in drawn}
    runs = Runs(columns(*({"problem": p, "label": m, "seed": s, "value": value} for (p, m, s), value in rows.items())))
    table = make_table(runs, "label", [Column(show="ratio")])
    for name, cell in table.rows:
        per_problem = []
        for problem in "ab":
            best = min((value for (p, _, _), value in rows.items() if p == problem), default=0)
            own = [value / best for (p, m, _), value in rows.items() if (p, m) == (problem, name.text)]
            per_problem += [math.fsum(own) / len(own)] if own else []
        assert cell.figure.value == pytest.approx(math.prod(per_problem) ** (1 / len(per_problem)))


def test_methods_together_have_the_best_plan_and_bound():
    runs = Runs(
        columns(
            {"label": "cut", "status": "bound", "value": None, "bound": 0.5},
            {"label": "simple", "status": "bound", "value": None, "bound": 0.8},
            {"label": "sa", "value": 2.0, "seed": 0},
            {"label": "sa", "value": 1.0, "seed": 1},
        )
    )
    joined = with_together(runs, {"all": ["cut", "simple", "sa"]})
    table = make_table(joined, "label", [Column(show=show) for show in ("value", "bound", "gap", "seconds")])
    assert texts(table)[-1] == ["all", "1.5000", "0.80000", "40.00 %", "1.50"]
    with pytest.raises(UsageError, match="is the label of a method"):
        with_together(runs, {"sa": ["cut"]})


def test_a_terminal_of_80_columns_gets_blocks_that_fit():
    rows = [{"problem": f"problem-{p}", "label": f"a-long-method-{m}"} for p in range(3) for m in range(9)]
    table = make_table(Runs(columns(*rows)), "problem", [Column(by="label")], title="What they found")
    lines = [line.plain for line in table_lines(table, 80)]
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("problem-1") for line in lines) == 3
    assert len([line for line in table_lines(table, None) if line.plain.startswith("problem-1")]) == 1


HOSTILE = "a_b & 50% #1 \\x{y} $z$ ~^ <|> \"q\" 'r' [s] -- `t` ü 中 × \x1b[31m\n"


def test_hostile_names_are_escaped_in_every_form():
    table = make_table(Runs(columns({"problem": HOSTILE, "label": HOSTILE})), "problem", [Column(by="label")])
    assert "\x1b" not in "".join(line.plain for line in table_lines(table, 80))
    lines = to_markdown(table).splitlines()
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines[:3]}) == 1
    check_latex(to_latex(table))
    assert len({len(row) for row in csv.reader(io.StringIO(to_csv(table)))}) == 1


def check_latex(text):
    """Hold LaTeX to what would stop a run of it: braces, cells a row, characters that are commands."""
    body = text.partition("\n")[2]
    depth = 0
    for mark in re.findall(r"(?<!\\)(?:\\\\)*([{}])", re.sub(r"\\[\\{}]", "", body)):
        depth += 1 if mark == "{" else -1
        assert depth >= 0
    assert depth == 0
    bare = re.sub(r"\\([a-zA-Z]+|.)", "", body)
    assert not re.search(r"[#%^_]", bare)
    assert bare.count("$") % 2 == 0
    wide = len(re.search(r"\\begin\{tabular\}\{(l*r*)\}", body)[1])
    rows = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)&", row)) == wide - 1 for row in rows)
    for name in ("table", "tabular"):
        assert body.count(rf"\begin{{{name}}}") == body.count(rf"\end{{{name}}}") == 1


@given(st.text("ab0\\_&%$#{}~^<>|\"'`[]-–—…×µ\xad\xa0ü中\x1b\u202e\n", max_size=30))
def test_any_text_is_escaped_for_latex(text):
    found = latex_escaped(text)
    assert found.isprintable()
    assert not re.search(r"(?<!\\)[#%&_]", found)
    assert max(map(ord, found), default=0) < 0x100


def test_unknown_words_are_refused_with_what_there_is():
    with pytest.raises(UsageError, match="did you mean 'seconds'"):
        make_table(FEW, "problem", [Column(show="second")])
    with pytest.raises(UsageError, match="no field 'prolbem'; did you mean 'problem'"):
        make_table(FEW, "prolbem", [Column()])
    with pytest.raises(UsageError, match=r"no run has params\.k"):
        make_table(FEW, "params.k", [Column()])
    with pytest.raises(UsageError, match="no mean called 'geo'"):
        FigureRule(over="geo")
    with pytest.raises(UsageError, match="no run is left"):
        make_table(FEW, "problem", [Column()], where={"label": "none"})
    with pytest.raises(UsageError, match="no method is called 'hfet'; did you mean 'heft'"):
        make_table(FEW, "problem", [Column(show="ratio", best="hfet")])


def test_throughputs_are_shown_in_their_own_unit() -> None:
    """A column in 1/s, which is no unit of specs, shows the figures as they are."""
    runs = Runs(columns({"unit": "1/s", "sense": "maximize", "value": 494.5}))
    table = make_table(runs, "label", [Column(show="value", unit="1/s", digits=4)])
    assert "494.5" in to_markdown(table)


def test_values_of_different_units_keep_them():
    runs = Runs(columns({"problem": "a", "value": 0.002}, {"problem": "b", "value": 5e4, "unit": ""}))
    table = make_table(runs, "problem", [Column()])
    assert texts(table) == [["a", "2 ms"], ["b", "50000"]]
    alike = make_table(runs, "problem", [Column()], where={"problem": "a"})
    assert (texts(alike), alike.notes[0]) == ([["a", "2"]], "value (ms).")
    up = Runs(columns({"status": "refused", "sense": "", "unit": "", "value": None, "label": "x"}, {"unit": "1/s"}))
    assert up.units(range(2)) == ["1/s"]


def test_training_is_a_figure_of_methods_that_learn():
    runs = Runs(columns({"label": "placeto"}, {"label": "heft"}) | {"train": [2.5, None]})
    assert texts(make_table(runs, "label", [Column(show="train")])) == [["placeto", "2.50"], ["heft", "not said"]]


def test_why_there_is_no_figure():
    runs = Runs(
        columns(
            {"label": "below", "value": -1.0},
            {"label": "least", "value": -2.0, "bound": -3.0},
            {"label": "bounds", "value": None, "bound": 1.0, "status": "bound", "problem": "q"},
        )
    )
    shows = ("ratio", "bound/plan", "ratio-to-bound", "gap")
    found = texts(make_table(runs, "label", [Column(show=show) for show in shows]))
    assert found == [
        ["below", "no ratio", "no bound", "no ratio", "no bound"],
        ["least", "no ratio", "no ratio", "no ratio", "not said"],
        ["bounds", "no plan", "no plan", "no plan", "no plan"],
    ]
