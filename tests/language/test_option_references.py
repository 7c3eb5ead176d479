"""Options that refer to other options of the same statement."""

from __future__ import annotations

import pytest

from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.language.lowering.lower import load

REST = "interconnect shared (bandwidth = 1)\nminimize bottleneck\n"


def test_options_refer_to_each_other() -> None:
    """In any order, through several, in families and blocks, and to what a node has where it is not given."""
    problem = load(
        "block b(i) { node x (memory = 2 * params, params = output + i, output = 3) }\n"
        "graph { node a[i in 0..1] (memory = params + output, output = params / 2, params = 4 * i)\n"
        'node z (memory = params + output + 1, label = kind + "!", kind = "conv") use b[2] }\n'
        "device d (memory = 10, reserve = memory * 10%)\n" + REST
    )
    names = problem.graph.names
    assert dict(zip(names, problem.graph.memory.tolist(), strict=True)) == {
        "a[0]": 0, "a[1]": 6, "z": 1, "b[0].x": 6, "b[1].x": 8,
    }  # fmt: skip
    assert problem.graph.labels[names.index("z")] == "conv!"
    assert problem.devices[0].reserve == 1


def test_params_and_loop_variables_come_first() -> None:
    """A name that the spec has for something else keeps its meaning, and a warning says so."""
    node = "node a[output in 1..1] (work = work, params = output, memory = 2 * output)"
    problem = load(f"param work = 3\ngraph {{ {node} }}\ndevice d\n{REST}")
    assert (problem.graph.work[0], problem.graph.params[0], problem.graph.memory[0]) == (3, 1, 2)
    hidden = load("param params = 7\ngraph { node a (params = 1, memory = 2 * params) }\ndevice d\n" + REST)
    assert hidden.graph.memory[0] == 14
    assert any("'params' means the param here" in warning for warning in hidden.warnings)


@pytest.mark.parametrize(
    ("options", "place", "message"),
    [
        (
            "params = memory, memory = output, output = params",
            "params",
            "option 'params' is defined by itself: params -> memory",
        ),
        ("params = memory", "memory", "a node has no memory that params could refer to"),
        ("params = 2 * outptu, output = 3", "outptu", "nothing is called 'outptu'"),
    ],
)
def test_references_that_lead_nowhere(options: str, place: str, message: str) -> None:
    """A cycle is refused with its chain; what is not given cannot be referred to."""
    with pytest.raises(SpecError) as caught:
        load(f"graph {{ node a ({options}) }}\ndevice d\n{REST}")
    found = caught.value.diagnostics[0]
    assert message in found.message
    assert found.span is not None
    assert found.span.text == place
