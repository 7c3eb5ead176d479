"""One reading finds everything: all stages, broken text or not, without errors that follow from others."""

from __future__ import annotations

from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.language.lowering.lower import analyse
from mtpp_dsl.language.syntax import tree
from tests.tree import ROOT

SPEC = """mtpp 1
graph {
  node embed (work = 3 ms)
  node head (work = 3 ms)
  edge embed -> head
}
device gpu[4] (memory = 1 GiB)
interconnect shared (bandwidth = 8 GiB/s)
minimize bottleneck
constraint pin embed on gpu[0]
constraint memory
"""


def said(text: str) -> list[str]:
    """Return the beginnings of the errors of a text."""
    return [error.message.partition(";")[0].partition(":")[0] for error in analyse(text).errors]


def test_a_sound_spec() -> None:
    """Its problem is that of load, its statements are those of the text, and its warnings have places."""
    found = mtpp_dsl.analyse(SPEC)
    assert found.problem is not None
    assert found.problem.graph.names == ("embed", "head")
    assert len(found.statements) == 7
    assert found.errors == ()
    assert [warning.span is not None for warning in found.warnings] == [True]
    assert [str(warning) for warning in found.warnings] == list(found.problem.warnings)
    assert repr(found) == "Analysis('<text>': 7 statements, 0 errors, 1 warnings)"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("(work = 3 ms)\n  node head", "(work 3 ms)\n  node head", "an option is written 'name = value'"),
        ("node head", "noode head", "only 'node', 'edge', 'use' and 'assert' stand in a graph; did you mean 'node'?"),
        ("device gpu[4] (memory", "device gpu[4] (memory = ", "an option is set with '='"),
        ("device gpu", "devcie gpu", "there is no"),
        ("interconnect", "interconect", "there is no"),
        ("(bandwidth = 8 GiB/s)", "(bandwidth = 8 GiB/s", "'(' is not closed"),
        ("minimize bottleneck", "minimize", "an objective is written"),
        ("constraint memory", "constraint memry", "there is no constraint 'memry'"),
        ("mtpp 1", "mtpp 1\nlet = 3", "a declaration needs a name"),
    ],
)
def test_what_does_not_parse_is_one_error(old: str, new: str, error: str) -> None:
    """What is then unknown is no error, and no problem comes out."""
    assert old in SPEC
    found = analyse(SPEC.replace(old, new, 1))
    assert found.problem is None
    assert len(found.errors) == 1, [str(error) for error in found.errors]
    assert found.errors[0].message.startswith(error)


def test_the_partial_tree() -> None:
    """It has the statements that parse, and of a broken graph the nodes and edges that do."""
    text = SPEC.replace("edge embed -> head", "edge embed head").replace("minimize bottleneck", "minimize (")
    found = analyse(text)
    kinds = [type(statement).__name__ for statement in found.statements]
    assert kinds == [
        "VersionStatement",
        "GraphBlock",
        "DeviceStatement",
        "InterconnectStatement",
        "ConstraintStatement",
        "ConstraintStatement",
    ]
    (graph,) = (statement for statement in found.statements if isinstance(statement, tree.GraphBlock))
    assert len(graph.items) == 2
    assert found.scope.graph is not None
    assert found.scope.graph.names == ("embed", "head")


def test_errors_in_all_kinds_of_statements() -> None:
    """Syntax, graph, devices, interconnect, objective and constraints are all looked at, in the order of the text."""
    text = (
        SPEC.replace("edge embed -> head", "edge embed -> haed")
        .replace("memory = 1 GiB", "memroy = 1 GiB")
        .replace("shared", "shard")
        .replace("minimize bottleneck", "minimize bottlenek")
        .replace("pin embed on gpu[0]", "pin embd on gpu[0]")
        .replace("constraint memory", "constraint memory on")
    )
    found = analyse(text)
    assert [error.message.partition(";")[0].partition(":")[0] for error in found.errors] == [
        "there is no node 'haed'",
        "a device has no option 'memroy'",
        "there is no interconnect 'shard'",
        "there is no objective 'bottlenek'",
        "nothing is called 'embd'",
        "'on' needs a device after it",
    ]


def test_texts_of_an_editor(tmp_path: Path) -> None:
    """A text that is held in place of a file counts, of an included one too; errors name their file."""
    main, other = tmp_path / "main.mtpp", tmp_path / "other.mtpp"
    main.write_text('include "other.mtpp"\n' + SPEC)
    other.write_text("let a = 3\n")
    assert analyse(main).problem is not None
    found = analyse(main, texts={other: "let a = b\n"})
    assert found.problem is None
    (error,) = found.errors
    assert error.span is not None
    assert error.span.source.path == other
    assert str(error.span.source.included_from).endswith("main.mtpp:1:9")
    assert analyse(main, texts={main: SPEC}).problem is not None


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.mtpp")), ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """They are sound."""
    assert analyse(path).errors == ()
