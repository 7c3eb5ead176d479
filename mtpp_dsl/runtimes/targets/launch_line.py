"""The options of llama.cpp's launch lines that say where layers and tensors are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.runtimes.targets.layer_counts import without_comments
from mtpp_dsl.runtimes.targets.safe_patterns import searcher

EXPERTS_PATTERN = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""Of the tensors of experts, as ``--cpu-moe`` and ``--n-cpu-moe`` have it (``LLM_FFN_EXPS_REGEX`` of common.h)."""
DENSE_PATTERN = r"\.ffn_(up|down|gate)\."
"""Of the tensors of other feed-forward networks, as ``--n-cpu-ffn`` has it."""
_OPTIONS = {
    name: option
    for option, names in {
        "shares": ("-ts", "--tensor-split"),
        "offloaded": ("-ngl", "--gpu-layers", "--n-gpu-layers"),
        "patterns": ("-ot", "--override-tensor"),
        "cpu_experts": ("-cmoe", "--cpu-moe"),
        "first_experts": ("-ncmoe", "--n-cpu-moe"),
        "first_dense": ("-ncffn", "--n-cpu-ffn"),
        "devices": ("-dev", "--device"),
        "servers": ("--rpc",),
        "mode": ("-sm", "--split-mode"),
        "tower": ("-mm", "--mmproj", "-mmu", "--mmproj-url"),
        "no_tower": ("--no-mmproj", "--no-mmproj-auto"),
        "tower_device": ("-mmdev", "--mmproj-device", "MTMD_BACKEND_DEVICE"),
        "tower_offloaded": ("--mmproj-offload",),
        "tower_on_host": ("--no-mmproj-offload",),
    }.items()
    for name in names
}
_FLAGS = ("cpu_experts", "no_tower", "tower_offloaded", "tower_on_host")
"""Options that take no value."""
ON_HOST = "none"
"""What stands for the host in place of the name of a GPU."""
_BARE = re.compile(r"\s*([\d.]+(?:\s*[,/]\s*[\d.]+)*)\s*")
MOST_LAYERS = 10_000
"""Layers that ``--n-cpu-moe`` is read for at most."""


@dataclass(frozen=True)
class Override:
    """Where some tensors are.

    Attributes:
        finds: whether the name of a tensor is one of them.
        buffer: what llama.cpp calls the memory that has them, such as "CPU" or "CUDA1".
    """

    finds: Callable[[str], object]
    buffer: str


@dataclass(frozen=True)
class LaunchLine:
    """What a launch line says of places.

    Attributes:
        shares: of the GPUs; None: it does not say.
        offloaded: how many items are on GPUs; None: all.
        overrides: in their order; the first that finds a tensor counts.
        devices: the names of the GPUs in their order; None: it does not say.
        servers: the addresses of RPC servers.
        reads_images: whether it loads a tower that reads images; None: it does not say.
        tower: the name of the GPU that has the tower, or :data:`ON_HOST`; None: the first.
    """

    shares: list[float] | None
    offloaded: int | None
    overrides: tuple[Override, ...] = ()
    devices: tuple[str, ...] | None = None
    servers: tuple[str, ...] = ()
    reads_images: bool | None = None
    tower: str | None = None


def read_line(text: str) -> LaunchLine:
    """Return what a launch line says, or a list of shares alone.

    Raises:
        UsageError: a value is damaged, a line says something in two ways, or splits tensors by rows.
    """
    bare = without_comments(text)
    if not any(word.partition("=")[0] in _OPTIONS for word in bare.split()):
        alone = _BARE.fullmatch(bare)
        if alone is None:
            raise UsageError(
                "there are no counts of items in it: write a launch line, or a count for each GPU, such as 3,2 for two"
            )
        return LaunchLine(_shares([alone[1]]), None)
    given: dict[str, list[str]] = {}
    overrides: list[Override] = []
    options = _options(bare)
    for option, value in options:
        given.setdefault(option, []).append(value)
        overrides += _overrides(option, value)
    mode = _one(given.get("mode", []), "--split-mode")
    if mode not in (None, "layer"):
        raise UsageError(f"--split-mode {mode} does not give whole layers to GPUs: only --split-mode layer is read")
    devices = _one(given.get("devices", []), "--device")
    return LaunchLine(
        _shares(given.get("shares", [])),
        _offloaded(given.get("offloaded", [])),
        tuple(overrides),
        None if devices is None else tuple(devices.split(",")),
        tuple(server for value in given.get("servers", []) for server in value.split(",")),
        False if "no_tower" in given else "tower" in given or None,
        _tower(options),
    )


def _options(text: str) -> list[tuple[str, str]]:
    """Return the options that count, in their order, with their values; "" for one that takes none."""
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise UsageError(f"the line cannot be read as a shell does: {error}") from None
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words):
        name, joined, value = words[at].partition("=")
        at += 1
        option = _OPTIONS.get(name)
        if option is None:
            continue
        if option not in _FLAGS and not joined:
            if at == len(words):
                raise UsageError(f"{name} has no value")
            value, at = words[at], at + 1
        options.append((option, value))
    return options


def _overrides(option: str, value: str) -> list[Override]:
    """Return the overrides that an option stands for, as llama.cpp lists them."""
    match option:
        case "patterns":
            parts = [part.partition("=") for part in value.split(",")]
            lost = next((text for text, sign, buffer in parts if not sign or not text or not buffer), None)
            if lost is not None:
                raise UsageError(f"-ot {value[:60]!r} is no list of PATTERN=BUFFER: a pattern has no comma in it")
            return [Override(searcher(text), buffer) for text, _, buffer in parts]
        case "cpu_experts":
            return [Override(re.compile(EXPERTS_PATTERN).search, "CPU")]
        case "first_experts" | "first_dense":
            if not value.isdigit() or len(value) > 9 or int(value) > MOST_LAYERS:
                raise UsageError(f"{value[:20]!r} is no number of layers")
            tensors = EXPERTS_PATTERN if option == "first_experts" else DENSE_PATTERN
            patterns = (re.compile(rf"blk\.{number}{tensors}") for number in range(int(value)))
            return [Override(pattern.search, "CPU") for pattern in patterns]
    return []


def _one(values: Sequence[str], name: str) -> str | None:
    if len(set(values)) > 1:
        raise UsageError(f"there are several {name}, which differ")
    return values[0] if values else None


def _tower(options: Sequence[tuple[str, str]]) -> str | None:
    """Return where a line has the tower, by the last option that says it; each of the device says that it is a GPU."""
    offloaded, device = True, None
    for option, value in options:
        if option == "tower_device":
            offloaded, device = value != ON_HOST, None if value == ON_HOST else value
        elif option in ("tower_offloaded", "tower_on_host"):
            offloaded = option == "tower_offloaded"
    return device if offloaded else ON_HOST


def _shares(values: Sequence[str]) -> list[float] | None:
    """Return the shares that are given, as numbers."""
    value = _one(values, "lists of shares")
    if value is None:
        return None
    try:
        shares = [float(part) for part in re.split(r"\s*[,/]\s*", value)]
    except ValueError:
        raise UsageError("a share is no number") from None
    if not 0 < sum(shares) < 1e9 or min(shares) < 0:
        raise UsageError("the shares add up to nothing, or to more than a thousand million")
    return shares


def _offloaded(values: Sequence[str]) -> int | None:
    value = _one(values, "-ngl")
    if value is None or value in ("auto", "all", "-1"):
        return None
    if not value.isdigit() or len(value) > 9:
        raise UsageError(f"-ngl {value[:20]!r} is no number of layers")
    return int(value)
