"""``mtpp methods`` and ``mtpp solvers``."""

from __future__ import annotations

from rich.text import Text

from mtpp_dsl import registry
from mtpp_dsl.api import method_names
from mtpp_dsl.cli.screen import say, screen_width, show
from mtpp_dsl.contracts import GIVES, Backend, Engine, Installed, Method
from mtpp_dsl.errors import PluginError
from mtpp_dsl.report.columns import Row, table

__all__ = ["list_methods", "list_solvers"]


def _print(columns: tuple[str, str, str], rows: list[tuple[str, str, str]], *, quiet: bool) -> int:
    """Print a table whose last column is broken where the terminal is narrow; where *quiet*, the first column alone."""
    if quiet:
        for row in rows:
            say(row[0])
        return 0
    styled = [(columns, "bold"), *((row, "") for row in rows)]
    show(
        table(
            [
                Row(Text(a, style), lambda _: Text(), (Text(), Text(b, style)), Text(c, style))
                for (a, b, c), style in styled
            ],
            screen_width(),
            most=0,
            least=0,
        )
    )
    return 0


def list_methods(*, quiet: bool = False) -> int:
    """Print every method with what it gives, or where *quiet* their names; a broken plug-in is listed as such."""
    rows: list[tuple[str, str, str]] = []
    for name, kind in method_names().items():
        group = registry.METHODS if kind == "method" else registry.FORMULATIONS
        try:
            plugin = registry.load(group, name)
        except PluginError as error:
            rows.append((name, "", f"broken: {error}"))
            continue
        gives = plugin.gives if kind == "method" else GIVES[plugin.role]
        rows.append((name, gives, plugin.summary + (_absent(plugin()) if kind == "method" else "")))
    return _print(("method", "gives", "what it is"), rows, quiet=quiet)


def _absent(method: Method) -> str:
    """Return how to install a method that is a program of its own and is not there."""
    found = method.available() if isinstance(method, Installed) else None
    return "" if found is None or found.ok else f"; not installed: {found.install}"


def list_solvers(*, quiet: bool = False) -> int:
    """Print every solver, whether it is installed, and how to install it; where *quiet* the names of those there."""
    rows: list[tuple[str, str, str]] = []
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
    return _print(("solver", "installed", "notes"), shown, quiet=quiet)
