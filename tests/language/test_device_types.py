"""Types of devices: options by a name, the library's files, and strings, which are names alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.cli.mending import _may_be_made
from mtpp_dsl.core.errors import SpecError
from mtpp_dsl.core.text.source import Fix, Source, Span
from mtpp_dsl.exchange.library.entries import FOLDER

TAIL = "graph { node a (work = 1 ms, params = 1 MB) }\ninterconnect shared (bandwidth = 1 GB/s)\nminimize bottleneck\n"


def load(text: str) -> mtpp_dsl.Problem:
    return mtpp_dsl.load(f"{text}\n{TAIL}constraint memory\n")


def test_a_device_takes_the_options_of_its_type_and_gives_its_own() -> None:
    problem = load("""
        let share = {memory: 80%}
        type base (memory = 40 GB, reserve = 10% * memory, efficiency = share, price = 1 USD/h)
        type big (type = base, memory = 80 GB)
        device fast[2] (type = big, price = 2 USD/h)
        device slow (type = base)
        device other (type = "base", memory = 1 GB)
    """)
    fast, _, slow, other = problem.devices
    assert (fast.type, fast.memory, fast.reserve, fast.price) == ("big", 80e9, 8e9, 2 / 3600)
    assert fast.efficiency == {"memory": 0.8}
    assert (slow.type, slow.memory, slow.reserve) == ("base", 40e9, 4e9)
    assert (other.type, other.reserve, other.efficiency) == ("base", 0.0, {})


def test_types_select_times_and_are_strings() -> None:
    problem = load(
        'type big (memory = 80 GB)\ndevice g[2] (type = big)\ntime a on { d in devices if type(d) == "big" } = 7 ms'
    )
    assert problem.time.tolist() == [[7e-3, 7e-3]]


def test_the_library_is_included() -> None:
    problem = load('include "devices/nvidia.mtpp"\ndevice g (type = a100_80gb)')
    device = problem.devices[0]
    assert (device.type, device.memory, device.peak["bf16"]) == ("a100_80gb", 80e9, 312e12)
    assert "<library>/devices/nvidia.mtpp" in problem.origin.files


def test_a_later_file_declares_a_type_anew() -> None:
    problem = load('include "devices/nvidia.mtpp"\ntype a100_80gb (memory = 3 GB)\ndevice g (type = a100_80gb)')
    assert (problem.devices[0].memory, problem.devices[0].peak) == (3e9, {})


@pytest.mark.parametrize("chosen", ["if i < 2 then big else if i < 3 then mid else low", "[big, big, mid, low][i]"])
def test_devices_of_one_family_may_have_several_types(chosen: str) -> None:
    types = "".join(f"type {name} (memory = {size} GB)\n" for name, size in (("big", 8), ("mid", 4), ("low", 2)))
    problem = load(f"{types}device g[i in 0..3] (type = {chosen})")
    assert [(device.type, device.memory) for device in problem.devices] == [
        ("big", 8e9),
        ("big", 8e9),
        ("mid", 4e9),
        ("low", 2e9),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type x (memory = 1 GB)\ndevice g[i in 0..1] (type = [x][i])", "a list has no member 1"),
        ("type x (memory = 1 GB)\ndevice g[i in 0..1] (type = [x, yx][i])", "there is no type 'yx'; did you mean 'x'"),
        ("device g (type = a100_80gb)", r'the library has it: include "devices/nvidia.mtpp"'),
        ("type bigg (memory = 1 GB)\ndevice g (type = big)", "there is no type 'big'; did you mean bigg"),
        ("type x (memory = 1 GB)\ntype x (memory = 2 GB)\ndevice g (memory = 1 GB)", "type 'x' is already declared at"),
        ("let x = 3\ntype x (memory = 1 GB)\ndevice g (memory = x * 1 GB)", "both a type and a param or let"),
        ("type x (type = y)\ntype y (type = x)\ndevice g (type = x)", "type 'x' is made of itself: x -> y -> x"),
        ("type x (memroy = 1 GB)\ndevice g (type = x)", "no option 'memroy'; did you mean 'memory'"),
        ("type x (memory = 1 s)\ndevice g[2] (type = x)", "memory must be a size"),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(text)
    assert re.search(message, str(caught.value)), caught.value
    assert len(caught.value.diagnostics) == 1


def test_no_fix_changes_the_library(tmp_path: Path) -> None:
    for folder, may in ((tmp_path, True), (FOLDER / "devices", False)):
        source = Source("x", "devcie gpu\n", None, folder / "nvidia.mtpp")
        assert _may_be_made(Fix.replace(Span(source, 0, 6), "device")) == may
