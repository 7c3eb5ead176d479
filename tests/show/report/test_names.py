"""Lists of names: modules that are whole take one place where a list is too long."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mtpp_dsl.show.report.names import fold_modules, fold_names, module_sizes

OPERATORS = ("norm/Div", "attn/q/MatMul", "attn/k/MatMul", "Add")
NAMES = ["embed", *(f"/block{i}/{name}" for i in range(4) for name in OPERATORS), "/head/MatMul"]


def folded(names: list[str], most: int | None = 6) -> str:
    """Return names as the terminal shows them."""
    return fold_modules(names, lambda: module_sizes(NAMES), most)


def test_whole_modules() -> None:
    """A module is named where all of its nodes are here; what is in part here is named by its parts."""
    assert folded(NAMES) == "embed, /block0..3 (16 nodes), /head/MatMul"
    assert folded(NAMES[:12]) == "embed, /block0..1 (8 nodes), /block2/norm/Div, /block2/attn (2 nodes)"
    assert folded(NAMES[5:9] + NAMES[13:]) == "/block1 (4 nodes), /block3 (4 nodes), /head/MatMul"
    assert folded([*NAMES[2:5], *NAMES[6:9], *NAMES[10:13]]) == (
        "/block0/attn (2 nodes), /block0/Add, /block1/attn (2 nodes), /block1/Add, /block2/attn (2 nodes), /block2/Add"
    )


def test_every_node_is_counted_once() -> None:
    """Where modules are too many as well, the middle is left out, with its number of nodes."""
    names = [f"m{i}x/{part}" for i in range(9) for part in ("a", "b")]
    shown = fold_modules(names, lambda: module_sizes(names), 4)
    assert shown == "m0x (2 nodes), m1x (2 nodes), … 10 more …, m7x (2 nodes), m8x (2 nodes)"


def test_a_node_with_the_name_of_a_module() -> None:
    """It is a node, and is not counted with the module."""
    names = ["a", "a/b", "a/c", "d", "e", "f", "g", "h", "i"]
    assert fold_modules(names, lambda: module_sizes(names), 7) == "a, a (2 nodes), d, e, f, g, h, i"


@pytest.mark.parametrize("most", [None, 20])
def test_short_lists(most: int | None) -> None:
    """Lists that fit, and those of a file or a pipe, have every name; sizes are then not counted."""

    def sizes() -> Mapping[str, int]:
        raise AssertionError("nothing is folded")

    assert fold_modules(NAMES, sizes, most) == fold_names(NAMES, most)
    assert fold_modules([f"layer[{i}].x" for i in range(50)], sizes) == "layer[0..49].x"
