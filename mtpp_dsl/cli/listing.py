"""``mtpp methods``, ``mtpp solvers`` and ``mtpp targets``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from mtpp_dsl.cli.screen import say, screen_width, show
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.protocols import GIVES, Backend, Engine, Installed, Method
from mtpp_dsl.core.errors import PluginError
from mtpp_dsl.show.report.columns import ColumnsRow, table
from mtpp_dsl.solving.api import method_names

__all__ = ["list_methods", "list_solvers", "list_targets", "print_table"]

OBJECTIVES = ("bottleneck", "makespan", "batch", "linear", "iteration")
"""What a method is for, by the objectives of its scopes; a sum of bottlenecks goes with the bottleneck."""
LATENCY = "latency"
"""In place of a makespan where that is none on links, but of subgraphs."""


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
    found = {LATENCY if at == "makespan" and "links" not in scope.interconnects else at for at, scope in scopes}
    found |= {"linear"} if "timed linear" in found else set()
    shown = [objective for objective in (*OBJECTIVES, LATENCY) if objective in found]
    return "any" if not shown or set(OBJECTIVES) <= found else ", ".join(shown)


def _absent(method: Method) -> str:
    """Return how to install a method that is a program of its own and is not there."""
    found = method.available() if isinstance(method, Installed) else None
    return "" if found is None or found.ok else f"; not installed: {found.install}"


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
        found = backend.available()
        installed = found.version or "yes" if found.ok else "no"
        note = found.note if found.ok else f"install: {found.install}"
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
