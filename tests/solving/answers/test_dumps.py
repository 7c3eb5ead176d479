"""The text of an answer: indented, with the members of what is long on one line each."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpp_dsl.solving.answers.json import LONG, dumps

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text('aé"\\\n')
)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab") | st.integers(), inner, max_size=4),
)


@given(DATA)
def test_what_is_short_is_indented_as_usual(data: object) -> None:
    """As Python's own module has it."""
    assert dumps(data) == json.dumps(data, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("rows", [[{"a": [1, 2]}] * (LONG + 1), {str(i): [i, {"b": None}] for i in range(LONG + 1)}])
def test_what_is_long_has_a_line_for_each_member(rows: object) -> None:
    """The data are the same, and neither NaN nor what the encoding lacks gets through."""
    text = dumps({"rows": rows, "name": "é"}, "ascii")
    assert json.loads(text) == {"rows": rows, "name": "é"}
    assert text.isascii()
    assert text.count("\n") == LONG + 1 + 5
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps([[float("nan")]] * (LONG + 1))
