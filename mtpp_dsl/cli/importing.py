"""``mtpp import``: one command for each source of a model. Everything heavy is imported by the command that needs it.

To add a source, write its importer in :mod:`mtpp_dsl.exchange.importers` and a function here with ``@command``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.commands import commands_of

__all__ = ["import_app"]

import_app = typer.Typer(
    help='Turn models into graphs of operators, for graph from "model.json", and tables of links into statements.',
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command = commands_of(import_app)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the model here, as .json.")]
Spec = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write here, as .mtpp; else print.", show_default=False),
]


def _group_by(word: str | None) -> str | None:
    """Refuse a word for groups that is none, before anything is read."""
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.exchange.model.grouping import GROUP_BY

    if word is not None and word not in GROUP_BY:
        raise UsageError(f"--group-by is layer, module or operator, not {word!r}{did_you_mean(word, GROUP_BY)}")
    return word


def _experts_read(word: str | None) -> str | None:
    """Refuse a word for the experts read that is none, before anything is read."""
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.exchange.model.sizes import EXPERTS_READ

    if word is not None and word not in EXPERTS_READ:
        raise UsageError(f"--experts-read is expected or all_distinct, not {word!r}{did_you_mean(word, EXPERTS_READ)}")
    return word


GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="layer|module|operator",
        help="What a node stands for, where a spec does not say; the file keeps all operators.",
        show_default=False,
        callback=_group_by,
    ),
]
ExpertsRead = Annotated[
    str | None,
    typer.Option(
        metavar="expected|all_distinct",
        help="Experts that tokens read, where a spec does not say: on average, or as many as there can be.",
        show_default=False,
        callback=_experts_read,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
Flop = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=FORMULA",
        help="FLOP of an operation or operator that nobody counts; may be repeated.",
        show_default=False,
    ),
]
Sizes = Annotated[
    list[str],
    typer.Option(
        "--size",
        metavar="NAME=SIZE",
        help="Give a symbol of the model a value, such as batch=8; may be repeated.",
        show_default=False,
    ),
]


@command
def links(
    path: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A table of links.", show_default=False)],
    output: Spec = None,
    unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="Unit of the bandwidths, if the table has none.", show_default=False),
    ] = None,
    both_ways: Annotated[bool, typer.Option("--both-ways", help="Each row holds for both directions.")] = False,
) -> int:
    """Turn a table of links into link statements, for include "links.mtpp".

    A table names a link a row in the columns from, to, bandwidth (GB/s) and latency (us); or it is square, with the
    devices in its first row and first column and bandwidths inside, as tools that measure all pairs print it.
    """
    from mtpp_dsl.exchange.importers.links import links_of_table

    _check_output(output)
    return _write_spec(links_of_table(path, unit, both_ways=both_ways), output)


@command
def topo(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What nvidia-smi topo -m printed.", show_default=False)],
    output: Spec = None,
    devices: Annotated[str, typer.Option(metavar="NAME", help="The GPUs are NAME[0], NAME[1] and so on.")] = "gpu",
    types: Annotated[
        list[str],
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Type of the GPUs in the library, or repeated, of each; otherwise that of the spec's devices counts.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    rate: Annotated[
        list[str],
        typer.Option(
            metavar="CODE=RATE",
            help="Take this bandwidth for PIX, PXB, PHB, NODE or SYS, or for one NVLink (NV); may be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
) -> int:
    """Turn the text of nvidia-smi topo -m into link statements, for include "links.mtpp".

    NVLinks have the rate of one in the library times their number; every PCIe path has that of the slower slot
    of the two, unless --rate says less.
    """
    from mtpp_dsl.exchange.importers.topo import links_of_topology

    _check_output(output)
    rates = dict(_pair(one) for one in rate)
    return _write_spec(links_of_topology(path, family=devices, types=types, rates=rates), output)


def _pair(text: str) -> tuple[str, str]:
    """Return the code and the bandwidth of ``CODE=RATE``."""
    from mtpp_dsl.core.errors import UsageError

    code, sign, rate = text.partition("=")
    if not sign:
        raise UsageError(f"--rate {text[:40]!r}: write CODE=RATE, such as SYS=20GB/s")
    return code.strip(), rate


def _check_output(output: Path | None) -> None:
    """Refuse a place for a file that cannot be written, before anything is read."""
    from mtpp_dsl.core.base.writing import check_writable

    if output is not None:
        check_writable(output)


def _write_spec(text: str, output: Path | None) -> int:
    """Write statements to a file, or print them."""
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.core.base.writing import write_text

    if output is None:
        say(text.rstrip("\n"))
    else:
        write_text(output, text)
    return 0


@command
def onnx(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="An ONNX file.")],
    output: Output,
    size: Sizes = [],  # noqa: B006  typer copies defaults
    flop: Flop = [],  # noqa: B006
    group_by: GroupBy = None,
    experts_read: ExpertsRead = None,
    quiet: Quiet = False,
) -> int:
    """Import an ONNX file: its operators with shapes, operations and bytes.

    Weights are not read, and nothing is run. Sizes that the file names, such as batch, stay symbols.
    """
    from mtpp_dsl.cli.imported import finish, prepare, sizes_of
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given

    prepare(output)
    return finish(
        from_onnx(model, sizes_of(size), formulas_given(flop)),
        output,
        group_by=group_by,
        experts_read=experts_read,
        quiet=quiet,
    )


@command
def pt2(
    model: Annotated[Path, typer.Argument(metavar="MODEL.pt2", help="What torch.export.save wrote.")],
    output: Output,
    size: Sizes = [],  # noqa: B006
    flop: Flop = [],  # noqa: B006
    group_by: GroupBy = None,
    experts_read: ExpertsRead = None,
    quiet: Quiet = False,
) -> int:
    """Import an archive of torch.export: its operators, from its JSON alone.

    Torch is not needed. Weights and pickles in the archive are not opened, and nothing is run. Sizes that may vary stay
    symbols; torch calls them s0, s1 and so on: --size s0=batch gives one another name.
    """
    from mtpp_dsl.cli.imported import finish, prepare, sizes_of
    from mtpp_dsl.exchange.importers.pt2.importer import from_pt2
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given

    prepare(output)
    return finish(
        from_pt2(model, sizes_of(size), formulas_given(flop)),
        output,
        group_by=group_by,
        experts_read=experts_read,
        quiet=quiet,
    )


@command
def gguf(
    model: Annotated[Path, typer.Argument(metavar="MODEL.gguf", help="A GGUF file, or the first of a split model.")],
    output: Output,
    phase: Annotated[str, typer.Option(metavar="NAMES", help="prefill, decode, or both.")] = "prefill,decode",
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Sequences at a time, where a spec gives none.")] = 1,
    seq: Annotated[int, typer.Option(min=1, metavar="N", help="Tokens of each, where a spec gives none.")] = 2048,
    group_by: GroupBy = None,
    experts_read: ExpertsRead = None,
    quiet: Quiet = False,
) -> int:
    """Import a GGUF file of llama.cpp: its layers, from the header and the table of tensors alone.

    Both phases are written unless you name one: prefill runs all tokens of the sequences at once, decode one more token
    of each with its cache of keys and values.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.exchange.importers.gguf.importer import from_gguf

    prepare(output)
    return finish(
        from_gguf(model, tuple(phase.split(",")), batch, seq),
        output,
        group_by=group_by,
        experts_read=experts_read,
        quiet=quiet,
    )
