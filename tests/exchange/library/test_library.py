"""The library of devices and links: that it is what its tables say, and that specs can include all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mtpp_dsl
from mtpp_dsl.core.text.source import Source
from mtpp_dsl.exchange.library.entries import FOLDER, entries
from mtpp_dsl.language.syntax.layout import format_spec
from tests.tools import library


def test_library_is_what_the_tables_say(data: Path) -> None:
    """The files are those that the script writes from the tables, and it leaves none behind."""
    if not (data / "devices").is_dir():
        pytest.skip(f"no tables of devices at {data}")
    written = library.files()
    for where, text in written.items():
        assert (FOLDER / where).read_text(encoding="utf-8") == text, f"python -m tests.tools.library: {where}"
    kept = {path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*.mtpp") if path.parent.name != "laws"}
    assert {where for where in kept if where.startswith(("devices/", "links/"))} == set(written)


def test_names_that_people_use_are_there() -> None:
    """The names of the usual devices and links are declared, each once, with a source."""
    found = entries()
    for name in ("a100_80gb", "h100_sxm", "l40s", "rtx_4090", "mi300x", "apple_m2_ultra_76c", "jetson_agx_orin_64gb"):
        assert found[name].kind == "type"
    for name in ("rtx_4090_laptop", "rtx_5070_laptop", "rx_7900m", "apple_a17_pro", "snapdragon_8_elite", "epyc_9654"):
        assert found[name].kind == "type"
    for name in ("pcie3_x16", "pcie6_x16", "nvlink4_h100", "infiniband_ndr", "ethernet_10g"):
        assert found[name].kind == "let"
    files = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*/*.mtpp") if path.parent.name != "laws"]
    names = [name for text in files for name in re.findall(r"^(?:type|let|def) (\w+)", text, re.MULTILINE)]
    assert sorted(names) == sorted(entry.name for entry in found.values() if not entry.file.startswith("laws/"))
    for entry in found.values():
        if entry.kind == "type":
            assert any(line.startswith("Source:") for line in entry.remarks), entry.name


def test_a_spec_can_include_all_of_it() -> None:
    """All files of devices, links and shares go into one spec, and every type makes a device with its figures."""
    types = [entry.name for entry in entries().values() if entry.kind == "type"]
    files = sorted({entry.file for entry in entries().values() if not entry.file.startswith("laws/")})
    spec = "".join(f'include "{file}"\n' for file in files) + "".join(
        f"device d{i} (type = {t})\n" for i, t in enumerate(types)
    )
    problem = mtpp_dsl.load(
        f"{spec}\ngraph {{ node a (work = 1 s) }}\ninterconnect shared (bandwidth = pcie4_x16)\nminimize bottleneck\n"
    )
    found = {device.type: device for device in problem.devices}
    assert found["a100_80gb"].memory == 80e9
    assert found["a100_80gb"].peak["bf16"] == 312e12
    assert found["a100_80gb"].bandwidth == 2039e9
    assert found["trainium1"].bandwidth == 820 * 2**30
    assert found["b200"].memory == 180 * 2**30
    assert found["l40s"].power == 350
    assert not found["ryzen_9_9950x"].peak
    assert found["epyc_9654"].peak["fp32"] == pytest.approx(96 * 2.4e9 * 32, rel=1e-4)
    assert found["rtx_4090_laptop"].memory == 16e9
    assert found["rtx_5080_laptop"].peak["bf16"] == 2 * found["rtx_5080_laptop"].peak["fp32"]
    assert found["apple_a17_pro"].bandwidth is None
    assert not any(device.efficiency for device in problem.devices)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.mtpp")), ids=lambda path: path.name)
def test_files_are_formatted(path: Path) -> None:
    """The files of the library are as ``mtpp fmt`` leaves them, so each of them parses."""
    text = path.read_text(encoding="utf-8")
    assert format_spec(Source(path.name, text)) == text
