"""The commands ``explain`` and ``diff``: what holds an answer where it is, and how two answers differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["diff", "explain"]


def explain(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="A .mtpp file.", show_default=False)],
    answer: Annotated[
        Path | None,
        typer.Argument(
            metavar="[ANSWER.json]",
            help="Its answer, or a plan; without one it is solved first.",
            show_default=False,
        ),
    ] = None,
    define: Annotated[
        list[str], typer.Option("-D", metavar="NAME=VALUE", help="Set a param; may be repeated.", show_default=False)
    ] = [],  # noqa: B006  typer copies defaults
    scenario: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario of the spec that counts.", show_default=False)
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Say why this node is where it is, too.", show_default=False),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PARTS",
            help="Only these, with commas: bottleneck, critical, next, …",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Stop after this time: 30s, 2min; what was found is told.")
    ] = "30s",
    method: Annotated[str, typer.Option(help="Method that solves; mtpp methods lists them.")] = "auto",
    solver: Annotated[str, typer.Option(help="Solver; mtpp solvers lists them.")] = "highs",
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of threads of the solver.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random choices.")] = 0,
    point: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Of a front: the answer that is explained.", show_default=False),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write it as JSON; - is stdout.", show_default=False)
    ] = None,
    include: Annotated[
        list[Path],
        typer.Option(
            "-I", metavar="DIR", help="Also look here for included files; may be repeated.", show_default=False
        ),
    ] = [],  # noqa: B006
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> int:
    """Explain an answer: which device or link holds it back, what each constraint costs, what else there is.

    Of a spec that has no plan it says which of its lines clash. Without an answer the spec is solved first, in half of
    the time.

    Exit codes: 0 explained · 2 the spec, the answer or the call is wrong · 4 neither a plan nor a proof that there is
    none was found · 5 a solver is missing or failed · 130 interrupted, 143 terminated (what has been found out is still
    printed and written).
    """
    from mtpp_dsl.cli.explain import ExplainCall, explain_and_report

    return explain_and_report(
        ExplainCall(
            spec=spec,
            answer=answer,
            define=define,
            scenario=scenario,
            include=include,
            node=node,
            only=only,
            time_limit=time_limit,
            method=method,
            solver=solver,
            threads=threads,
            seed=seed,
            point=point,
            json=json,
            quiet=quiet,
        )
    )


def diff(
    a: Annotated[Path, typer.Argument(metavar="A.json", help="An answer.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B.json", help="Another one.", show_default=False)],
    spec: Annotated[
        Path | None, typer.Option(metavar="SPEC", help="Where the spec of both is now.", show_default=False)
    ] = None,
    point: Annotated[
        str | None,
        typer.Option(metavar="N[,M]", help="Of fronts: which point of each, as 1,3.", show_default=False),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE|-", help="Write it as JSON; - is stdout.", show_default=False)
    ] = None,
    include: Annotated[
        list[Path],
        typer.Option(
            "-I", metavar="DIR", help="Also look here for included files; may be repeated.", show_default=False
        ),
    ] = [],  # noqa: B006
) -> int:
    """Compare two answers: what moved, loads before and after, objective and bound, and why one is better.

    Plans that differ in the names of alike devices alone are the same. Answers to different specs are compared by the
    names in them; of an answer whose spec has changed, its JSON alone.

    Exit codes: 0 compared, whether they differ or not · 2 a file is no answer, or the call is wrong.
    """
    from mtpp_dsl.cli.diff import diff_answers

    return diff_answers(a, b, spec, include, point, json)
