"""``mtpp methods``, ``mtpp solvers``, ``mtpp targets`` and ``mtpp devices``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.text import Text

from mtpp_dsl.cli.screen import say, screen_width, show
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.protocols import GIVES, Backend, Engine, Installed, Method
from mtpp_dsl.core.errors import PluginError, UsageError
from mtpp_dsl.exchange.library.entries import LibraryEntry, entries, near
from mtpp_dsl.show.report.columns import ColumnsRow, table
from mtpp_dsl.solving.api import method_names

OBJECTIVES = ("bottleneck", "makespan", "batch", "linear", "iteration")
"""What a method is for, by the objectives of its scopes; a sum of bottlenecks goes with the bottleneck."""
LATENCY = "latency"
"""In place of a makespan where that is none on links, but of subgraphs."""


_PEAK = re.compile(r"(\w+): ([0-9.]+) TFLOP/s")
_FOLDERS = ("devices/", "efficiency/", "links/")


def print_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, quiet: bool) -> int:
    """Print a table whose last column is broken where the terminal is narrow; where *quiet*, the first column alone."""
    if quiet:
        for row in rows:
            say(row[0])
        return 0
    styled = [(columns, "bold"), *((row, "") for row in rows)]
    show(
        table(
            [
                ColumnsRow(
                    Text(a, style), lambda _: Text(), (Text(), *(Text(b, style) for b in between)), Text(c, style)
                )
                for (a, *between, c), style in styled
            ],
            screen_width(),
            most=0,
            least=0,
        )
    )
    return 0


def list_methods(*, quiet: bool = False) -> int:
    """Print every method with what it gives and for what, or where *quiet* their names; broken plug-ins as such."""
    rows: list[tuple[str, ...]] = []
    for name, kind in method_names().items():
        group = registry.METHODS if kind == "method" else registry.FORMULATIONS
        try:
            plugin = registry.load(group, name)
        except PluginError as error:
            rows.append((name, "", "", f"broken: {error}"))
            continue
        gives = plugin.gives if kind == "method" else GIVES[plugin.role]
        absent = _absent(plugin()) if kind == "method" else ""
        rows.append((name, gives, _objectives(plugin), plugin.summary + absent))
    return print_table(("method", "gives", "for", "what it is"), rows, quiet=quiet)


def _objectives(plugin: type) -> str:
    """Return the objectives in the scopes of a method or a formulation; "any" where it says none, or all of them."""
    scopes = [(objective, scope) for scope in getattr(plugin, "scopes", ()) for objective in scope.objectives]
    objectives = {LATENCY if at == "makespan" and "links" not in scope.interconnects else at for at, scope in scopes}
    objectives |= {"linear"} if "timed linear" in objectives else set()
    shown = [objective for objective in (*OBJECTIVES, LATENCY) if objective in objectives]
    return "any" if not shown or set(OBJECTIVES) <= objectives else ", ".join(shown)


def _absent(method: Method) -> str:
    """Return how to install a method that is a program of its own and is not there."""
    availability = method.available() if isinstance(method, Installed) else None
    return "" if availability is None or availability.ok else f"; not installed: {availability.install}"


def list_solvers(*, quiet: bool = False) -> int:
    """Print every solver, whether it is installed, and how to install it; where *quiet* the names of those there."""
    rows: list[tuple[str, ...]] = []
    groups = [(group, name) for group in (registry.BACKENDS, registry.ENGINES) for name in registry.available(group)]
    for group, name in groups:
        try:
            backend: Backend | Engine = registry.load(group, name)()
        except PluginError as error:
            rows.append((name, "broken", str(error)))
            continue
        availability = backend.available()
        installed = availability.version or "yes" if availability.ok else "no"
        note = availability.note if availability.ok else f"install: {availability.install}"
        supports = "supports " + ", ".join(sorted(backend.features)).replace("_", " ")
        solves = f"models of its own for {', '.join(backend.formulations)}" if isinstance(backend, Engine) else ""
        rows.append((name, installed, "; ".join(part for part in (note, solves, supports) if part)))
    shown = [row for row in rows if row[1] not in ("no", "broken")] if quiet else rows
    return print_table(("solver", "installed", "notes"), shown, quiet=quiet)


def list_targets(*, quiet: bool = False) -> int:
    """Print every target with what it is, or where *quiet* their names; broken plug-ins as such."""
    rows: list[tuple[str, ...]] = []
    for name in registry.available(registry.TARGETS):
        try:
            rows.append((name, registry.load(registry.TARGETS, name).summary))
        except PluginError as error:
            rows.append((name, f"broken: {error}"))
    return print_table(("target", "what it is"), rows, quiet=quiet)


def list_library(name: str | None, *, quiet: bool = False) -> int:
    """Print the types of devices, those and the links whose name or file has *name* in it, or the entry of that name.

    Where *quiet*, the names alone.

    Raises:
        UsageError: the library has nothing of that name.
    """
    known = {key: entry for key, entry in entries().items() if entry.file.startswith(_FOLDERS)}
    if name is not None and name in known:
        return _show(known[name], quiet=quiet)
    if name is None:
        matching = [entry for entry in known.values() if entry.kind == "type"]
    else:
        matching = [entry for entry in known.values() if name.lower() in entry.name or name.lower() in entry.file]
    if not matching:
        raise UsageError(f"the library has no device and no link {name!r}{near(name or '', 'type')}")
    types = [entry for entry in matching if entry.kind == "type"]
    links = [entry for entry in matching if entry.kind != "type"]
    if types:
        rows = [_row(entry) for entry in types] if quiet else _without_repeats(types)
        print_table(("type", "memory", "bandwidth", "peak in TFLOP/s"), rows, quiet=quiet)
    if links:
        values = [(entry.name, entry.file, _value(entry)) for entry in links]
        print_table(("name", "file", "value"), values, quiet=quiet)
    if not quiet:
        say(_remedy(types or links), stderr=True)
    return 0


def _show(entry: LibraryEntry, *, quiet: bool) -> int:
    """Print one statement below its remarks and sources."""
    if quiet:
        say(entry.name)
        return 0
    for line in (f"in {entry.file}", *entry.remarks):
        say(f"# {line}")
    say(entry.text)
    return 0


def _row(entry: LibraryEntry) -> tuple[str, ...]:
    """Return name, memory, bandwidth and peaks of a type."""
    peaks = ", ".join(f"{kind} {rate}" for kind, rate in _PEAK.findall(entry.text))
    return entry.name, _option(entry, "memory"), _option(entry, "bandwidth"), peaks or "-"


def _without_repeats(types: Sequence[LibraryEntry]) -> list[tuple[str, ...]]:
    """Return the rows of types; two names of one device, as ``h200`` and ``h200_sxm``, share a row."""
    rows: list[tuple[str, ...]] = []
    for name, *figures in map(_row, types):
        other = rows[-1][0] if rows else ""
        words, others = set(name.split("_")), set(other.split("_"))
        if rows and [*rows[-1][1:]] == figures and (words < others or others < words):
            short, long = sorted((name, other), key=len)
            rows[-1] = (f"{short}, {long}", *figures)
        else:
            rows.append((name, *figures))
    return rows


def _option(entry: LibraryEntry, option: str) -> str:
    match = re.search(rf"\b{option} = ([0-9.]+ [A-Za-z/]+)", entry.text)
    return match[1] if match else "-"


def _value(entry: LibraryEntry) -> str:
    """Return what a definition says, without the entries of a map."""
    value = entry.text.partition(" = ")[2].partition("  #")[0]
    return "a map" if value.startswith("{") else value


def _remedy(listed: Sequence[LibraryEntry]) -> str:
    """Return how to use what was listed."""
    entry = listed[0]
    use = f"device d (type = {entry.name})" if entry.kind == "type" else f"bandwidth = {entry.name}"
    return f'include "{entry.file}" for {use}; mtpp devices {entry.name} shows the sources'
