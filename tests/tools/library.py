"""Write the library of devices and links in mtpp_dsl/exchange/library from its tables: ``python -m
tests.tools.library``.

The tables, ``devices/devices.csv`` and ``devices/links.csv`` of the workloads, name a document for each figure; they
are looked for in $MTPP_DATA, else in ../shared/data beside the repository. ``devices.csv`` beside this file has more
devices in the same columns: GPUs of laptops, phones and processors; its rows take the place of rows of the same name.
What no document states is left out.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap

__all__ = ["DATA", "LIBRARY", "files"]

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data")) / "devices"
LIBRARY = ROOT / "mtpp_dsl" / "exchange" / "library"
MORE_DEVICES = Path(__file__).with_name("devices.csv")

WIDTH = 110
NO_DOCUMENT = "comparison written by an AI tool"
NO_ADDRESS = "public page without an address at hand"
"""Sources that nobody can look up: what has no other is left out, and a power that may come from the first."""
MORE_SOURCES = {
    "ryzen_9_9950x": "https://timdobbs.substack.com/p/the-amd-ryzen-9-9950x-cpu (two channels of DDR5-5600)",
    "pcie3_": "https://www.systemrequirements.net/tools/pcie-bandwidth-calculator (of one lane)",
    "pcie4_": "https://www.systemrequirements.net/tools/pcie-bandwidth-calculator (of one lane)",
    "pcie5_": "https://www.systemrequirements.net/tools/pcie-bandwidth-calculator (of one lane)",
    "pcie6_": "https://yduf.github.io/pcie (121 GB/s of x16)",
    "nvlink1_": "https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html",
    "nvlink2_": "https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html",
    "nvlink3_a100": "https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html",
    "nvlink4_": "https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html",
    "nvlink5_": "https://alpha-one-index.github.io/ai-infra-index/specs/networking-interconnects.html",
    "ethernet_1g": "https://askvity.info/ethernet-networking-speed/what-is-ethernet-speed",
    "ethernet_10g": "https://askvity.info/ethernet-networking-speed/what-is-ethernet-speed",
    "ethernet_25g": "https://infinitelexicon.com/multigigabitpersecond",
    "usb4_gen": "https://rog.asus.com/us/support/faq/1047105",
    "usb4_v2": "https://www.convergedigest.com/2022/10/the-next-usb4-spec-will-hit-80-gbps.html",
}
"""Documents in which figures were read besides those of the tables, by how names begin."""
THUNDERBOLT = "purplelec.com/info-detail/thunderbolt-5-572; marcuschiu Atlassian page"
LOST = {"ethernet_1g": "latency", "jetson_agx_thor_t5000": "fp8", "jetson_orin_nx_16gb": "int8"}
"""Single figures that are from a page without an address, by the device or link: they are left out."""
PEAKS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8")
OTHER_NAMES = {
    "a100_40gb": ("a100_sxm_40gb", "the SXM module; the PCIe card is a100_pcie_40gb"),
    "a100_80gb": ("a100_sxm_80gb", "the SXM module; the PCIe card is a100_pcie_80gb"),
    "v100_16gb": ("v100_sxm2_16gb", "the SXM2 module; the PCIe card is v100_pcie_16gb"),
    "v100_32gb": ("v100_sxm2_32gb", "the SXM2 module; the PCIe card is v100_pcie_32gb"),
    "h200": ("h200_sxm", "the SXM module; the PCIe card is h200_nvl"),
    "b200": ("b200_sxm", "the SXM module"),
    "b300": ("b300_sxm", "the SXM module"),
    "arc_a770": ("arc_a770_16gb", "the card with 16 GB"),
}
"""Names that people use for one of several variants, with what to say of the choice."""

DEVICE_FILES = {
    "nvidia": "GPUs of NVIDIA, for data centres, workstations and games",
    "amd": "GPUs of AMD",
    "intel": "GPUs and accelerators of Intel",
    "google": "TPUs of Google",
    "aws": "accelerators of AWS",
    "apple": "chips of Apple, by the cores of their GPU",
    "edge": "boards of the Jetson family",
    "phone": "chips of phones: their GPUs",
    "cpu": "processors",
}
LINK_FILES = {
    "pcie": ("PCI Express, one slot", ("pcie",)),
    "nvlink": ("NVLink, all links of a GPU together", ("nvlink",)),
    "infiniband": ("InfiniBand, one port", ("infiniband",)),
    "ethernet": ("Ethernet, one port", ("ethernet",)),
    "wireless": ("Wi-Fi, one client", ("wifi",)),
    "usb": ("Thunderbolt and USB4, one cable", ("thunderbolt", "usb")),
    "fabric": (
        "Links between accelerators of AMD, Intel, Google and AWS",
        ("infinity", "xe_link", "tpu", "gaudi3", "neuronlink"),
    ),
}

CONVENTIONS = """\
Written by tests/tools/library.py. Each type names the documents that its figures were read in.
peak: operations per second without sparsity, in each number format whose figure a document states; fp32 is the \
vector rate. The rates of integers count as FLOP/s too.
bandwidth: of the device's own memory. memory: in GB (10^9 B) or GiB (2^30 B), as the document has it.
power: the maker's limit for the whole device. No efficiency is stated here: without one, nodes reach the peak."""
GEFORCE = """\
GeForce and RTX: fp16 and bf16 are the tensor rates that add up in fp32, half of what adding up in fp16 gives."""
OF_MAKERS = {
    "nvidia": GEFORCE,
    "amd": "mi250x is a package of two devices. Rates of matrices in fp32 are in the remarks.",
    "apple": "Documents give the rate of fp32 alone; for another format, say peak = {…} on the device.",
    "cpu": """\
Documents disagree on the peaks of processors by a factor of 20. A peak is given here only where cores, base clock and \
operations a cycle are known, as their product; for another, say peak = {…} on the device. memory is the most that the \
processor takes: say memory = … for that of yours.""",
    "phone": "What no document at hand states is missing: say bandwidth = … or peak = {…} on the device.",
}
LINK_CONVENTIONS = """\
Written by tests/tools/library.py. Each figure names the document that it was read in.
Bandwidths are of one direction, before what protocols take; latencies are orders of magnitude."""

PORTS = """\
What joins a device of each type in the library to others, by its type, such as pcie_of[type(gpu[0])]. \
Written by tests/tools/library.py.
pcie_of: the PCI Express slot that the device's maker gives it. nvlink_of: all NVLinks of a GPU together. \
nvlink_lane_of: one of them, of which `nvidia-smi topo -m` counts those between two GPUs."""
LANES = {
    "nvlink1_p100": "nvlink1_lane",
    "nvlink2_v100": "nvlink2_lane",
    "nvlink3_a100": "nvlink3_lane",
    "nvlink4_h100": "nvlink4_lane",
    "nvlink5_b200": "nvlink5_lane",
    "nvlink3_bridge_ga102": "nvlink3_bridge_lane",
}
BRIDGE = "nvlink3_bridge_ga102"
BRIDGE_LINKS = 4
"""NVIDIA's whitepaper on GA102: four links of 14.0625 GB/s in each direction, 56.25 GB/s together."""

Row = Mapping[str, str]


def files() -> dict[str, str]:
    """Return the texts of the library by their paths in it, such as ``devices/nvidia.mtpp``.

    Raises:
        OSError: the tables are not there.
    """
    devices = [row for row in _devices() if _sources(row)]
    links = [row for row in _rows(DATA / "links.csv") if _sources(row)]
    found = {f"devices/{name}.mtpp": _device_file(name, devices) for name in DEVICE_FILES}
    found |= {f"links/{name}.mtpp": _link_file(name, links) for name in LINK_FILES}
    found["links/ports.mtpp"] = _ports(devices, links)
    assert sum(text.count("\ntype ") for text in found.values()) == len(devices) + len(OTHER_NAMES)
    return found


def _devices() -> list[Row]:
    """Return the rows of both tables of devices; each device is there once."""
    rows = {row["name"]: row for row in _rows(DATA / "devices.csv")}
    more = _rows(MORE_DEVICES)
    assert len({row["name"] for row in more}) == len(more)
    return list((rows | {row["name"]: row for row in more}).values())


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _device_file(name: str, devices: Iterable[Row]) -> str:
    """Return the types of one file, each below its sources and remarks."""
    blocks = [_comment(f"{_capital(DEVICE_FILES[name])}.\n{CONVENTIONS}\n{OF_MAKERS.get(name, '')}")]
    for row in devices:
        if _file_of(row) == name:
            blocks.append("\n".join([*_remarks(row), _type(row["name"], row)]))
            for other, (whose, remark) in OTHER_NAMES.items():
                if whose == row["name"]:
                    said = _comment(f"{other} is {whose}, {remark}.")
                    blocks.append("\n".join([said, *_remarks(row), _type(other, row)]))
    return "\n\n".join(blocks) + "\n"


def _file_of(row: Row) -> str:
    """Return the file of a device: that of its maker, but of boards, phones and processors."""
    if row["kind"] in ("cpu", "phone"):
        return row["kind"]
    return "edge" if row["name"].startswith("jetson") else row["maker"].lower()


def _type(name: str, row: Row) -> str:
    """Return the statement of a type."""
    rates = ", ".join(f"{peak}: {_rate(row, peak)} TFLOP/s" for peak in PEAKS if _rate(row, peak))
    options = [f"peak = {{ {rates} }}"] if rates else []
    unit = "GiB/s" if re.match(rf"{row['bandwidth_GB_s']} GiB/s as", row["note"]) else "GB/s"
    rest = [f"bandwidth = {row['bandwidth_GB_s']} {unit}"] if row["bandwidth_GB_s"] else []
    if row["memory"]:
        rest.append(f"memory = {row['memory']} {row['memory_unit']}")
    if row["power_W"] and NO_DOCUMENT not in row["source"]:
        rest.append(f"power = {row['power_W']} W")
    return _lines(f"type {name} (", [*options, *([", ".join(rest)] if rest else [])], ")")


def _rate(row: Row, peak: str) -> str:
    if LOST.get(row["name"]) == peak:
        return ""
    return row["int8_TOPS"] if peak == "int8" else row[f"{peak}_TFLOPS"]


def _remarks(row: Row) -> Iterator[str]:
    """Yield the comments of a row: what it is, its remark, and its sources."""
    if row["note"]:
        yield _comment(f"{_plain(row['note'])}.")
    yield _comment(f"Source: {_plain('; '.join(_sources(row)))}.")


def _sources(row: Row) -> list[str]:
    """Return the documents of a row that can be looked up."""
    more = [source for begin, source in MORE_SOURCES.items() if row["name"].startswith(begin)]
    found = [source.replace("as thunderbolt3", THUNDERBOLT) for source in row["source"].split("; ")]
    return [source for source in found if source not in (NO_DOCUMENT, NO_ADDRESS)] + more


def _plain(text: str) -> str:
    """Return a remark without numbers of pages that nobody can look up, and with the names of sources spelt out."""
    text = re.sub(r"\s*\(ids? \d{6,}(, \d+)*\)", "", text)
    text = re.sub(r"; ids? \d{6,}(, \d+)*", "", text)
    text = re.sub(r"\bid \d{6,}", "another page", text)
    text = re.sub(r" in the last source| Latency from the second\.|; id \d+", "", text)
    text = text.replace("not opened", "in no document at hand")
    names = {
        "AIC": "aiconfigurator",
        "LIT": "pytorch-lightning",
        "COMP": "composer",
        "TIT": "torchtitan",
        "SCALE": "scaling-book",
        "EXO": "exo",
        "WP": "whitepaper",
        "GK": "Glenn Lockwood",
    }
    return re.sub(rf"\b({'|'.join(names)})\b", lambda found: names[found[1]], text).rstrip(".")


def _link_file(name: str, links: Iterable[Row]) -> str:
    """Return the definitions of one file, each below its sources and remarks."""
    what, prefixes = LINK_FILES[name]
    blocks = [_comment(f"{what}.\n{LINK_CONVENTIONS}")]
    for row in links:
        if row["name"].startswith(prefixes):
            lines = [*_remarks(row), f"let {row['name']} = {row['GB_s_per_direction']} GB/s"]
            lines += [_lane(row)] if row["name"] in LANES else []
            lines += [f"let {row['name']}_latency = {row['latency_us']} us"] if _has_latency(row) else []
            blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _has_latency(row: Row) -> bool:
    return bool(row["latency_us"]) and LOST.get(row["name"]) != "latency"


def _lane(row: Row) -> str:
    """Return the definition of one of the links that a GPU has, with the number that the remark gives."""
    said = re.match(r"(\d+) (?:links )?x (\d+)", row["note"])
    if said is None:
        assert row["name"] == BRIDGE
        return (
            f"let {LANES[row['name']]} = {row['name']} / {BRIDGE_LINKS}  # GA102 whitepaper: four links of 14.0625 GB/s"
        )
    assert int(said[1]) * int(said[2]) == float(row["GB_s_per_direction"])
    return f"let {LANES[row['name']]} = {row['name']} / {said[1]}"


def _ports(devices: Iterable[Row], links: Iterable[Row]) -> str:
    """Return the maps from the types of devices to what joins them."""
    known = {row["name"]: float(row["GB_s_per_direction"]) for row in links}
    others = [
        {**row, "name": other} for other, (name, _) in OTHER_NAMES.items() for row in devices if row["name"] == name
    ]
    rows = [*devices, *others]
    slots = {row["name"]: f"pcie{row['pcie'][0]}_{row['pcie'].split()[1]}" for row in rows if row["pcie"]}
    cables = {row["name"]: _nvlink(row, known) for row in rows if _has_nvlink(row)}
    maps = {
        "pcie_of": {name: slot for name, slot in slots.items() if slot in known},
        "nvlink_of": cables,
        "nvlink_lane_of": {name: LANES[cable] for name, cable in cables.items()},
    }
    blocks = [_comment(PORTS), 'include "pcie.mtpp"\ninclude "nvlink.mtpp"']
    for name, entries in maps.items():
        inner = [f'"{device}": {link}' for device, link in entries.items()]
        blocks.append(_lines(f"let {name} = {{ ", inner, " }"))
    return "\n\n".join(blocks) + "\n"


def _has_nvlink(row: Row) -> bool:
    return row["maker"] == "NVIDIA" and bool(row["nvlink_GB_s_per_direction"])


def _nvlink(row: Row, known: Mapping[str, float]) -> str:
    """Return which NVLink a GPU has: the one of its bandwidth; documents round that of the bridge of GA102."""
    rate = float(row["nvlink_GB_s_per_direction"])
    (found,) = (name for name in LANES if known[name] == rate or (name == BRIDGE and 56 <= rate <= known[name]))
    return found


def _lines(begin: str, parts: Iterable[str], end: str) -> str:
    """Return parts one a line, all from the column where the first begins."""
    return begin + (",\n" + " " * len(begin.rstrip())).join(parts) + end


def _comment(text: str) -> str:
    """Return a text as comments, each paragraph broken where the line ends."""
    lines = [
        line
        for part in text.splitlines()
        if part
        for line in wrap(part, WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    ]
    return "\n".join(f"# {line}" for line in lines)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


if __name__ == "__main__":
    for where, written in files().items():
        (LIBRARY / where).parent.mkdir(parents=True, exist_ok=True)
        (LIBRARY / where).write_text(written, encoding="utf-8")
