"""``mtpp import torch`` and ``mtpp import hf``, added to the other imports; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.importing import ExpertsRead, Flop, GroupBy, Output, Quiet, command, import_app

__all__ = ["import_app"]

Optimizer = Annotated[
    str,
    typer.Option(metavar="adam|sgd|BYTES", help="train: the optimizer, or bytes held for each number of a parameter."),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="train: the backward pass costs so many forward passes; otherwise torch derives it.",
        show_default=False,
    ),
]


@command
def torch(
    target: Annotated[
        str, typer.Argument(metavar="MODULE:CALLABLE", help="What makes the torch.nn.Module.", show_default=False)
    ],
    output: Output,
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            metavar="'NAME: TYPE[SIZE, …]'",
            help="An input of forward, such as 'ids: int64\\[batch, seq]'; may be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    values: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="NAME=NUMBER", help="The default of a size, such as batch=1.", show_default=False
        ),
    ] = [],  # noqa: B006
    device: Annotated[str, typer.Option(help="Make the module on meta (without memory) or cpu.")] = "meta",
    phase: Annotated[str, typer.Option(metavar="forward|train", help="What the model does.")] = "forward",
    optimizer: Optimizer = "adam",
    backward_ratio: Ratio = None,
    flop: Flop = [],  # noqa: B006
    group_by: GroupBy = None,
    experts_read: ExpertsRead = None,
    quiet: Quiet = False,
) -> int:
    """Import a model of torch. This runs the code of MODULE, as Python does when it imports it.

    MODULE is a package or module that Python finds, from the current folder too, or a file such as model.py. CALLABLE
    is called without arguments and returns a torch.nn.Module. Sizes of inputs that are names stay open: a spec
    chooses them.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given, numbers_given, read_input
    from mtpp_dsl.exchange.importers.torch_model import check_target, import_torch

    prepare(output)
    check_target(target)
    given = [read_input(text) for text in inputs]
    numbers, formulas = numbers_given(values), formulas_given(flop)
    if not quiet:
        say(f"mtpp: running the code of {target.rpartition(':')[0] or target}", stderr=True)
    model = import_torch(
        target,
        given,
        numbers,
        device=device,
        phase=phase,
        optimizer=optimizer,
        backward_ratio=backward_ratio,
        flops=formulas,
    )
    return finish(model, output, group_by=group_by, experts_read=experts_read, quiet=quiet)


@command
def hf(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A config.json, or its folder.", show_default=False)],
    output: Output,
    phase: Annotated[
        str, typer.Option(metavar="PHASES", help="prefill, decode or train; several with commas.")
    ] = "prefill",
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Default of batch.")] = 1,
    seq: Annotated[
        int, typer.Option(min=1, metavar="N", help="Default of seq: tokens of a prompt, or in the cache of a decode.")
    ] = 2048,
    dtype: Annotated[
        str | None,
        typer.Option(help="Of the weights: bf16, fp16, fp32; else what the file says.", show_default=False),
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many layers instead.", show_default=False)
    ] = None,
    optimizer: Optimizer = "adam",
    backward_ratio: Ratio = None,
    flop: Flop = [],  # noqa: B006
    group_by: GroupBy = None,
    experts_read: ExpertsRead = None,
    quiet: Quiet = False,
) -> int:
    """Import a model of Hugging Face by its configuration alone: no weights, no network, no code of the file.

    seq and batch stay open where torch can keep them so: a spec chooses them.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.exchange.importers.hf import from_hf
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given

    prepare(output)
    model = from_hf(
        config,
        phase,
        batch=batch,
        seq=seq,
        dtype=dtype,
        layers=layers,
        optimizer=optimizer,
        backward_ratio=backward_ratio,
        flops=formulas_given(flop),
    )
    return finish(model, output, group_by=group_by, experts_read=experts_read, quiet=quiet)
