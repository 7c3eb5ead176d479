"""profile.json: what is written is read back, and what is no profile is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.model.profile import Profile, Timing, profile_of, read_profile, text_of

PROFILE = Profile(
    device="cpu",
    signatures={"aten.linear.default f32[2,3]": Timing(1e-5, 0.9e-5, 1.2e-5, 20, "aten.linear.default")},
    operators={
        "h[0].fc.linear": "aten.linear.default f32[2,3]",
        "h[1].fc.linear": "aten.linear.default f32[2,3]",
        "h[1].gelu": "aten.gelu.default f32[2,3]",
    },
    machine={"processor": "some", "threads": 1},
    model={"name": "a:b", "sha256": ""},
    symbols={"batch": 2},
)


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read back, and operators that share a signature share its time."""
    path = tmp_path / "profile.json"
    path.write_text(text_of(PROFILE), encoding="utf-8")
    found = read_profile(path)
    assert found == PROFILE
    assert {name: timing.median for name, timing in found.times.items()} == {
        "h[0].fc.linear": 1e-5,
        "h[1].fc.linear": 1e-5,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "no profile"),
        ({"version": 9}, "version 9"),
        ({"device": ""}, "device must be"),
        ({"operators": {"a": 1}}, r"operators\['a'\]"),
        ({"signatures": {"a": {"median": -1}}}, "median must be a time"),
        ({"signatures": {"a": {"median": 1, "runs": 0}}}, "runs must be"),
        ({"signatures": []}, "signatures must be an object"),
        ({"symbols": {"batch": "x"}}, r"symbols\['batch'\]"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    """Each field is checked, and the message says which one is wrong."""
    with pytest.raises(UsageError, match=message):
        profile_of(json.loads(text_of(PROFILE)) | change, "p.json")
