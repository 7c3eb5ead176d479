"""The command ``train``: learn on some problems what places nodes on others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["train"]


def train(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SPEC|SWEEP.toml...", help="Specs, or sweeps, whose problems are meant.", show_default=False
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="POLICY.json", help="Write the policy here.")],
    define: Annotated[
        list[str], typer.Option("-D", metavar="NAME=VALUE", help="Set a param; may be repeated.", show_default=False)
    ] = [],  # noqa: B006
    updates: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many, of 16 episodes each.")] = 1000,
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this time: 60s, 10min, or none.")
    ] = "10min",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the weights and of all draws.")] = 0,
    start: Annotated[
        Path | None, typer.Option(metavar="POLICY.json", help="Begin with this policy.", show_default=False)
    ] = None,
    include: Annotated[
        list[Path],
        typer.Option(
            "-I", metavar="DIR", help="Also look here for included files; may be repeated.", show_default=False
        ),
    ] = [],  # noqa: B006
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")] = False,
) -> int:
    """Train a policy on problems, for solve --method placeto --policy FILE.

    The problems are makespans on links. After Ctrl-C the policy is written as far as it has come.
    """
    from mtpp_dsl.cli.train import train_and_report

    return train_and_report(
        sources,
        output=output,
        define=define,
        include=include,
        updates=updates,
        time_limit=time_limit,
        seed=seed,
        start=start,
        quiet=quiet,
    )
