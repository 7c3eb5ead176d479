"""Convert what ``nvidia-smi topo -m`` prints to ``link`` statements.

The rates are those of the library for the types of the devices (``links/ports.mtpp``), looked up when the spec is read;
or numbers that the user gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpp_dsl.core.base.files import read_text
from mtpp_dsl.core.base.units import RATE, UNITS
from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.exchange.importers.links import Joined, checked_number, comment_text, statements
from mtpp_dsl.exchange.library.entries import entries, keys_of, near

__all__ = ["links_of_topology", "read_topology"]

MAX_BYTES = 4 * 2**20
MAX_GPUS = 128
"""A table of more GPUs is refused."""

CODES = {
    "PIX": "across one PCIe bridge",
    "PXB": "across several PCIe bridges",
    "PHB": "across a PCIe host bridge, which is the CPU",
    "NODE": "across the PCIe host bridges of a NUMA node",
    "SYS": "across NUMA nodes",
    "NV": "bonded NVLinks",
}
"""What joins two devices, from the legend below the table."""

OLDER = {"SOC": "SYS", "PSB": "PIX"}
"""What older versions print."""

_STYLES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_GPU = re.compile(r"GPU([0-9]{1,4})", re.ASCII)
_NVLINKS = re.compile(r"NV([1-9][0-9]{0,2})", re.ASCII)
_NIC = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,60}", re.ASCII)
_NEAREST = ("PIX", "PXB", "PHB", "NODE")


@dataclass(frozen=True)
class Topology:
    """A table of what joins the devices of a machine.

    Attributes:
        gpus: the numbers of the GPUs, in the order of the table.
        codes: for each two of them what joins them, such as ``NV12`` or ``SYS``.
        nics: for each GPU, what joins it to each network card.
        affinity: for each GPU, what the table says of CPUs and NUMA nodes, as it is.
        cards: the names of network cards, such as ``mlx5_0``, by those in the table.
    """

    gpus: tuple[int, ...]
    codes: Mapping[tuple[int, int], str]
    nics: Mapping[int, Mapping[str, str]]
    affinity: Mapping[int, str]
    cards: Mapping[str, str]


def links_of_topology(
    path: Path, *, family: str = "gpu", types: Sequence[str] = (), rates: Mapping[str, str] | None = None
) -> str:
    """Return the links that a table of ``nvidia-smi topo -m`` shows as statements of the language.

    A PCIe path has the rate of the slower of both slots, whatever it crosses: no document of the library gives less.
    NVLinks have the rate of one times their number.

    Args:
        path: the text that the command printed.
        family: the devices are ``family[0]``, ``family[1]`` and so on, as the GPUs are numbered.
        types: their types in the library: one for all, or one each; without, they are those of the spec's devices.
        rates: for each of :data:`CODES` the bandwidth to take instead, such as ``{"SYS": "10 GB/s"}``; that of ``NV``
            is of one NVLink.

    Raises:
        UsageError: the table cannot be read, with the line; or an argument is wrong.
    """
    given = {code: _rate(code, rate) for code, rate in (rates or {}).items()}
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", family, re.ASCII):
        raise UsageError(f"{family[:40]!r} is no name of a family of devices")
    topology = read_topology(path)
    kinds = _types(topology, family, types)
    links = list(_links(topology, family, kinds, given))
    head = [f"# Links of {len(topology.gpus)} GPUs, from {comment_text(path.name)} (nvidia-smi topo -m).\n"]
    head += [f"# {line}\n" for line in _near(topology, family)]
    if any("_of[" in link.options for link in links):
        if not types:
            head.append(f"# The devices {family}[…] need the types of the library, such as type = a100_80gb.\n")
        head.append('include "links/ports.mtpp"\n')
    return "".join(head) + "\n" + statements(links)


def _rate(code: str, rate: str) -> str:
    """Return a bandwidth that the user gave, as the language writes it."""
    place = f"--rate {code[:20]}={rate[:40]}"
    if code not in CODES:
        raise UsageError(
            f"{place}: there is no {code[:20]!r}{did_you_mean(code, CODES)} (there are: {', '.join(CODES)})"
        )
    match = re.fullmatch(r"([0-9.eE+-]+)\s*([A-Za-zµ/]*)", rate.strip())
    if match is None or (match[2] and UNITS.get(match[2], (0, None))[1] != RATE):
        raise UsageError(f"{place}: write a bandwidth, such as {code}=20GB/s")
    return f"{checked_number(match[1], 'bandwidth', place, least='above')} {match[2]}".strip()


def _types(topology: Topology, family: str, types: Sequence[str]) -> dict[int, str]:
    """Return for each GPU its type in an expression: that of the library, as a string, or the device's own."""
    known = {name for name, entry in entries().items() if entry.kind == "type"}
    for name in types:
        if name not in known:
            raise UsageError(f"the library has no type {name[:60]!r}{near(name, 'type')}")
    if len(types) > 1 and len(types) != len(topology.gpus):
        raise UsageError(f"there are {len(topology.gpus)} GPUs and {len(types)} types; give one for all, or one each")
    if not types:
        return {gpu: f"type({family}[{gpu}])" for gpu in topology.gpus}
    gpu_types = types if len(types) > 1 else [types[0]] * len(topology.gpus)
    return {gpu: f'"{name}"' for gpu, name in zip(topology.gpus, gpu_types, strict=True)}


def _links(topology: Topology, family: str, kinds: Mapping[int, str], given: Mapping[str, str]) -> Iterator[Joined]:
    for (first, second), code in topology.codes.items():
        many = _NVLINKS.fullmatch(code)
        if many:
            rate = f"{many[1]} * {given.get('NV') or _slower('nvlink_lane_of', kinds[first], kinds[second], 'NV')}"
        else:
            rate = given.get(code) or _slower("pcie_of", kinds[first], kinds[second], code)
        yield Joined(f"{family}[{first}]", f"{family}[{second}]", f"bandwidth = {rate}", code)


def _slower(table: str, first: str, second: str, code: str) -> str:
    """Return the lesser rate of two types in a table of the library, as an expression.

    Raises:
        UsageError: the table has none of them; of types of the spec's devices it is not known yet.
    """
    for name in (first.strip('"'), second.strip('"')):
        if "type(" not in name and name not in keys_of(table):
            what = "NVLink" if code == "NV" else "PCIe slot"
            raise UsageError(f"the library has no {what} of {name}; give its rate, as --rate {code}=20GB/s")
    return (
        f"{table}[{first}]"
        if first == second
        else f"min({', '.join(f'{table}[{t}]' for t in sorted((first, second)))})"
    )


def _near(topology: Topology, family: str) -> Iterator[str]:
    """Yield what the table says of each GPU beside its links: its nearest network card, its CPUs and NUMA nodes."""
    for gpu in topology.gpus:
        parts = []
        codes = topology.nics.get(gpu, {})
        best = next((code for code in _NEAREST if code in codes.values()), None)
        if best is not None:
            names = [topology.cards.get(nic, nic) for nic, code in codes.items() if code == best]
            parts.append(f"{best} to {', '.join(names)}")
        if topology.affinity.get(gpu):
            parts.append(f"CPU and NUMA affinity {topology.affinity[gpu]}")
        if parts:
            yield comment_text(f"{family}[{gpu}]: {'; '.join(parts)}")


def read_topology(path: Path) -> Topology:
    """Return what a file with the text of ``nvidia-smi topo -m`` says; lines around the table count for nothing.

    Raises:
        UsageError: there is no table, it is cut off, has a word that is no connection, or more GPUs than
            :data:`MAX_GPUS`.
    """
    lines = [_STYLES.sub("", line) for line in read_text(path, MAX_BYTES).split("\n")]
    head = next((i for i, line in enumerate(lines) if _is_header(line.split())), None)
    if head is None:
        raise UsageError(f"{path} has no table of nvidia-smi topo -m: no first line of it, GPU0 GPU1 …")
    columns = _columns(lines[head], f"{path}:{head + 1}")
    rows: dict[str, list[str]] = {}
    cards: dict[str, str] = {}
    for number, line in enumerate(lines[head + 1 :], head + 2):
        words = line.split()
        if words and words[0] in columns:
            if words[0] in rows:
                raise UsageError(f"{path}:{number}: a second row of {words[0]}")
            if len(words) <= len(columns):
                raise UsageError(
                    f"{path}:{number}: the row of {words[0]} has {len(words) - 1} of {len(columns)} columns"
                )
            rows[words[0]] = [_code(word, words[0], f"{path}:{number}") for word in words[1 : len(columns) + 1]]
            rows[words[0]].append(" ".join(words[len(columns) + 1 :]))
        elif len(words) == 2 and words[0].endswith(":") and words[0][:-1] in columns and _NIC.fullmatch(words[1]):
            cards[words[0][:-1]] = words[1]
    return _topology(columns, rows, cards, str(path))


def _is_header(words: Sequence[str]) -> bool:
    return bool(words) and _GPU.fullmatch(words[0]) is not None and "X" not in words


def _columns(line: str, place: str) -> list[str]:
    """Return the columns of devices, which stand before those of CPUs and NUMA nodes."""
    columns: list[str] = []
    for word in line.split():
        if word in ("CPU", "NUMA") or not _NIC.fullmatch(word):
            break
        columns.append(word)
    gpus = [word for word in columns if _GPU.fullmatch(word)]
    if len(set(columns)) < len(columns):
        raise UsageError(f"{place}: a column is there twice")
    if len(gpus) > MAX_GPUS:
        raise UsageError(f"{place}: {len(gpus):,} GPUs; at most {MAX_GPUS:,} are read")
    return columns


def _code(word: str, row: str, place: str) -> str:
    word = OLDER.get(word, word)
    if word != "X" and word not in CODES and not _NVLINKS.fullmatch(word):
        raise UsageError(f"{place}: {word[:20]!r} of {row} is no connection of nvidia-smi topo -m")
    if word == "NV":
        raise UsageError(f"{place}: NV of {row} does not say how many NVLinks there are")
    return word


def _topology(
    columns: Sequence[str], rows: Mapping[str, Sequence[str]], cards: Mapping[str, str], name: str
) -> Topology:
    """Return the table that rows give, each with its words in the order of the columns, then the rest of its line."""
    numbers = {word: int(match[1]) for word in columns if (match := _GPU.fullmatch(word))}
    missing = [word for word in numbers if word not in rows]
    if missing:
        raise UsageError(f"{name}: the table has no row of {missing[0]}; it is cut off")
    if len(numbers) < 2:
        raise UsageError(f"{name}: the table has one GPU, so there is no link")
    codes = {}
    for first in numbers:
        for place, second in enumerate(columns):
            if second in numbers and (rows[first][place] == "X") != (first == second):
                raise UsageError(
                    f"{name}: {first} and {second} are joined by {rows[first][place]!r}; is a column missing?"
                )
            if second in numbers and first != second:
                codes[numbers[first], numbers[second]] = rows[first][place]
    nics = {
        gpu: {word: rows[first][place] for place, word in enumerate(columns) if word not in numbers}
        for first, gpu in numbers.items()
    }
    affinity = {gpu: rows[first][-1] for first, gpu in numbers.items()}
    return Topology(tuple(numbers.values()), codes, nics, affinity, cards)
