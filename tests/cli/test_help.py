"""What ``mtpp --help`` and ``mtpp solve --help`` show, and in which groups; ``mtpp --version``."""

from __future__ import annotations

import platform
from importlib.metadata import version

import pytest

from mtpp_dsl.cli.app import PANELS, app
from mtpp_dsl.cli.run import run
from tests.tree import ROOT


def test_every_command_has_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that no group names would be left out of the help."""
    commands = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
    assert sorted(name for names in PANELS.values() for name in names) == sorted(filter(None, commands))
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    places = [shown.index(f" {panel} ─") for panel in PANELS]
    assert places == sorted(places)


def test_options_of_single_methods_are_folded(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of solve names the option that shows the rest; with it nothing is left out, and no more is promised."""
    assert run(["solve", "--help"]) == 0
    few = capsys.readouterr().out
    assert "--module-method" not in few
    assert "--help-all lists 4 more options" in few
    assert run(["solve", "--help-all"]) == 0
    everything = capsys.readouterr().out
    assert "--module-method" in everything
    assert "--help-all lists" not in everything
    assert {word for word in few.split() if word.startswith("--")} <= set(everything.split()) | {"--help-all"}


def test_folded_options_are_still_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Hidden options are read, and refused by methods that do not have them."""
    assert (
        run(["solve", str(ROOT / "examples/quickstart.mtpp"), "--method", "ideals", "--channels", "2", "--quiet"]) == 2
    )
    assert "channels" in capsys.readouterr().err


def test_version_names_what_solves(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line is of mtpp, for scripts; then what may change the answers."""
    assert run(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"mtpp {version('mtpp-dsl')}"
    assert lines[1] == f"Python {platform.python_version()}"
    assert f"highspy {version('highspy')}" in lines
