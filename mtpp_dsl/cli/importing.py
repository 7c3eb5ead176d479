"""``mtpp import``: one command for each source of a model. Everything heavy is imported by the command that needs it.

To add a source, write its importer in :mod:`mtpp_dsl.importers` and a function here with ``@command``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.commands import commands_of

__all__ = ["import_app"]

import_app = typer.Typer(
    help='Turn a model into a graph of operators with their costs, for graph from "model.json".',
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command = commands_of(import_app)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the model here, as .json.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
