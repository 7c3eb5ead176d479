"""What a name stands for: all that is below it, whatever brought the nodes, in every place where nodes are named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.base import prefixes
from mtpp_dsl.core.errors import SpecError, UsageError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.exchange.model import model_json as json
from mtpp_dsl.language.builder.builder import to_spec
from mtpp_dsl.language.lowering.lower import load
from mtpp_dsl.show.explaining.explain import node_of
from tests.small_models import llama

REST = "device d[2] (memory = 1 GB)\ninterconnect shared (bandwidth = 1 GB/s)\nminimize latency\n"
NAMES = ("emb", "l[0].attn", "l[0].attn.q", "l[0].attn_mask", "l[0].mlp[0]", "l[1].attn.q", "l[1].attn.k", "out/x/y")
GRAPH = "".join(f'node "{name}" (work = 1 ms, params = 1 MB)\n' for name in NAMES) + 'edge "emb" -> "out/x/y"\n'
ATTENTION = (1, 2, 5, 6)


def read(*statements: str, graph: str = f"graph {{\n{GRAPH}}}", rest: str = REST) -> Problem:
    """Read a spec of the nodes above and two devices."""
    return load("\n".join([graph, rest, *statements]))


def held(text: str, **how: str) -> tuple[int, ...]:
    """Return the nodes that are pinned by a name."""
    return read(f"constraint pin {text} on d[1]", **how).constraints[0].nodes  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("emb", (0,)),
        ("l", (1, 2, 3, 4, 5, 6)),
        ("l[0]", (1, 2, 3, 4)),
        ("l[0].attn", (1, 2)),
        ("l[0].attn.q", (2,)),
        ("l.attn", ATTENTION),
        ('"l.attn"', ATTENTION),
        ("l[0..1].attn", ATTENTION),
        ("l.attn.q", (2, 5)),
        ("l.mlp", (4,)),
        ('"out"', (7,)),
        ('"out/x"', (7,)),
        ('node("l[0].attn")', (1,)),
        ("{ l[0].attn, emb }", (0, 1, 2)),
        ("l.attn - l[0].attn", (5, 6)),
        ("l.attn - l[1].attn.k", (1, 2, 5)),
        ("emb + l[1].attn", (0, 5, 6)),
        ("{ v in nodes if v in l.attn or v in emb }", (0, *ATTENTION)),
    ],
)
def test_a_name_is_all_that_is_below_it(text: str, nodes: tuple[int, ...]) -> None:
    """Also where a node bears the name, or subscripts are left out; names that only begin alike are not below."""
    assert held(text) == nodes


@pytest.mark.parametrize(
    "statement",
    [
        "constraint forbid {} on d[0]",
        "constraint colocate {}",
        "constraint separate {}",
        "let where = {}\nconstraint pin where on d[0]",
        "constraint pin v on d[0] for v in {}",
        "constraint row: sum(on(v, d[0]) for v in {}) <= 2",
        "constraint row: forall v in {}: on(v, d[0]) <= 0",
        "constraint row: sum(on(v, d[0]) for v in {{ emb, {} }}) <= 2 (penalty = 1 ms)",
        "time {} on d[0] = 7 ms",
        "minimize energy: sum(on(v, d[0]) for v in {})",
    ],
)
def test_a_name_is_the_same_in_every_statement(statement: str) -> None:
    """What is said of a name is said of the nodes below it, as if they were written out."""
    spelt = "{" + ", ".join(f'node("{NAMES[v]}")' for v in ATTENTION) + "}"
    one, two = read(statement.format("l.attn")), read(statement.format(spelt))
    assert one.constraints == two.constraints
    assert one.time.tolist() == two.time.tolist()
    assert one.objectives == two.objectives
    assert one.constraints or one.later or one.time[1, 0] == 0.007


def test_a_value_from_outside_is_a_name_like_others() -> None:
    """A string of ``-D`` stands for the same as the name in the spec."""
    spec = "\n".join(["param where: string", f"graph {{\n{GRAPH}}}", REST, "constraint pin where on d[1]"])
    assert load(spec, {"where": "l.attn"}).constraints[0].nodes == ATTENTION  # type: ignore[attr-defined]


BLOCKS = """
block attention { node q (work = 1 ms) node k (work = 1 ms) edge q -> k }
block layer { use attention as attn node mlp (work = 1 ms) edge attn.k -> mlp }
graph { use layer as l[2] node head (work = 1 ms) edge l[0].mlp -> l[1].attn.q edge l[1].mlp -> head }
"""


def test_blocks_files_and_written_nodes_are_one(tmp_path: Path) -> None:
    """The same name means the same nodes, whatever brought these."""
    problem = read(graph=BLOCKS)
    (tmp_path / "net.nodes.csv").write_text("name,work (ms)\n" + "".join(f"{n},1\n" for n in problem.graph.names))
    (tmp_path / "net.edges.csv").write_text("source,target\nl[0].attn.q,head\n")
    spelt = "".join(f'node "{name}" (work = 1 ms)\n' for name in problem.graph.names)
    graphs = BLOCKS, f'graph from "{tmp_path / "net.nodes.csv"}"', f"graph {{\n{spelt}}}"
    for text in ("l", "l[1]", "l.attn", "l[0].attn", "l.attn.q", "l[0..1].mlp", "head"):
        assert len({held(text, graph=graph) for graph in graphs}) == 1, text


@pytest.mark.parametrize("by", ["operator", "module", "layer"])
def test_a_module_is_whole_however_a_model_is_grouped(tmp_path: Path, by: str) -> None:
    """The name of a layer, and of a part of it, names all operators of its modules: runs of them, too."""
    model = llama(3)
    json.write(model, tmp_path / "model.json")
    graph = model.graph(group_by=by)
    given = f'graph from "{tmp_path / "model.json"}" (group_by = {by})'
    rest = REST.replace("1 GB)", "1 GB, peak = {fp32: 1 TFLOP/s, bf16: 1 TFLOP/s}, bandwidth = 1 GB/s)", 1)
    for path in ("model.layers.1", "model.layers.2.self_attn") if by != "layer" else ("model.layers.1",):
        text = path.replace(".1", "[1]").replace(".2", "[2]")
        nodes = held(text, graph=given, rest=rest)
        found = graph.origin.members if graph.origin is not None else ()
        below = {v for v, each in enumerate(model.operators) if f"{each.path}.".startswith(f"{path}.")}
        owners = {g for g, members in enumerate(found) if below & set(members)}
        assert set(nodes) == {g for g in owners if graph.names[g].startswith(text)}
        assert below <= {v for g in nodes for v in found[g]}


def test_one_node_or_several_is_said_of_functions() -> None:
    """Where one node is wanted, a name of several is refused; ``node`` names the one, and a loop takes one as well."""
    read('assert work(node("l[0].attn")) == 1 ms and length(emb) == 1 and sum(work(v) for v in emb) == 1 ms')
    with pytest.raises(SpecError, match="not a set of 2 nodes; take its members one by one"):
        read("assert work(l[0].attn) == 1 ms")
    with pytest.raises(SpecError, match=r"there is no node 'l\[0\].atn'; did you mean 'l\[0\].attn'"):
        read('assert work(node("l[0].atn")) == 1 ms')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("l[0].atn", r"nothing is called 'l\[0\].atn'; did you mean 'l\[0\].attn'"),
        ("l[2].attn", r"there is no node 'l\[2\].attn': there are l\[0\] to l\[1\]"),
        ("l[0].mlp[1]", r"there is no node 'l\[0\].mlp\[1\]': there are l\[0\].mlp\[0\] to l\[0\].mlp\[0\]"),
        ('"ou"', "nothing is called 'ou'; did you mean 'out'"),
    ],
)
def test_near_names_are_suggested(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        held(text)


def test_an_edge_names_its_ends_exactly() -> None:
    """The name of a node is this one at the end of an edge; a name that no node bears is all below it."""
    graph = 'graph { node "a" node "a.b" node "c.d" node "c.e" edge "a" -> "a.b" edge "a" -> "c" }'
    assert read(graph=graph).graph.heads.tolist() == [1, 2, 3]


def test_a_file_of_times_names_nodes_exactly(tmp_path: Path) -> None:
    """The line of a node is of those below it only where they have none, in any order of the lines."""
    lines = ["l[0].attn.q,d[0],3", "l[0],d[0],9", "l[0].attn,d[0],5"]
    (tmp_path / "t.csv").write_text("\n".join(["node,device,time", *lines[:1], *lines[2:]]) + "\n")
    graph = f'graph {{\n{GRAPH}node "l[0].attn.v" (work = 1 ms)\n}}'
    time = read(f'times from "{tmp_path / "t.csv"}" (unit = ms)', graph=graph).time
    assert [round(1000 * time[v, 0]) for v in (1, 2, 8)] == [5, 3, 5]


def test_a_spec_of_a_problem_names_nodes_exactly() -> None:
    """What is written of a problem reads back as it, where names of nodes begin with others."""
    problem = read(
        'constraint pin node("l[0].attn") on d[1]',
        'constraint row: 2 * on(node("l[0].attn"), d[0]) + on(emb, d[1]) <= 2',
        'time node("l[0].attn") on d[0] = 5 ms',
    )
    again = load(to_spec(problem))
    assert [c.nodes for c in again.constraints[:1]] == [(1,)]  # type: ignore[attr-defined]
    assert again.constraints[1].terms == problem.constraints[1].terms  # type: ignore[attr-defined]
    assert again.time.tolist() == problem.time.tolist()


def test_explain_asks_about_one_node() -> None:
    problem = read()
    assert node_of(problem, "out") == 7
    assert node_of(problem, 'node("l[0].attn")') == 1
    with pytest.raises(UsageError, match=r"names 2 nodes; ask about one of them: l\[0\].attn, l\[0\].attn.q; --node"):
        node_of(problem, "l[0].attn")


def test_a_param_may_be_called_as_a_model_is() -> None:
    """A path of a file has no parts, so that the nodes are meant."""
    assert held("l[0].attn", rest=f'param l: path = "x"\n{REST}') == (1, 2)


def test_names_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading ten thousand nodes and thousands of statements about them sorts the names once."""
    sizes: list[int] = []

    def counting(items: Iterable[Any], **how: Any) -> list[Any]:
        found = sorted(items, **how)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(prefixes, "sorted", counting, raising=False)
    problem = read("constraint pin v[i] on d[0] for i in 0..<3000", graph="graph { node v[10000] (work = 1 ms) }")
    assert len(problem.constraints) == 3000
    assert sum(size == 10_000 for size in sizes) == 1


LAW = """
device d[2] (peak = 1 TFLOP/s, bandwidth = 1 TB/s)
interconnect shared (bandwidth = 1 GB/s)
minimize bottleneck
graph {{ node v[i in 0..{last}] (flop = (i + 1) * 1 GFLOP, read = 1 GB, write = 1 GB) }}
"""


def law_times(last: int, *more: str) -> list[float]:
    """Return the times on the first device of nodes that a law models, in ms."""
    return [
        round(1000 * float(time), 9) for time in load("\n".join(["mtpp 1", *more, LAW.format(last=last)])).time[:, 0]
    ]


def test_a_function_of_ones_own_leaves_those_of_the_library() -> None:
    """The law of the package calls max of the language, whatever the spec calls max."""
    assert law_times(3, "def max(x, y) = x", "assert max(1, 2) == 1") == law_times(3) == [2, 2, 3, 4]


@pytest.mark.parametrize("last", [3, 1200])
def test_a_function_of_ones_own_is_that_of_ones_own_law(last: int) -> None:
    """Few operators are asked one by one, many at once."""
    own = (
        "def max(x, y) = y",
        "def roofline(v, d) = max(flop(v) / peak(d, dtype(v)), (read(v) + write(v)) / bandwidth(d))",
    )
    assert set(law_times(last, *own)) == {2}
