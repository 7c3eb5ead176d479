"""``mtpp import``: one command for each source of a model. Everything heavy is imported by the command that needs it.

To add a source, write its importer in :mod:`mtpp_dsl.exchange.importers` and a function here with ``@command``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from mtpp_dsl.cli.commands import Group, commands_of
from mtpp_dsl.cli.parameters import argument, option

__all__ = ["import_app"]

import_app = typer.Typer(
    cls=Group,
    help='Turn models into graphs of operators, for graph from "model.json", and tables of links into statements.',
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command = commands_of(import_app)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the model here, as .json.")]
Spec = Annotated[Path | None, option("FILE", "Write to this .mtpp file; by default, print.", "--output", "-o")]


def _group_by(word: str | None) -> str | None:
    """Refuse an unknown word for groups before anything is read."""
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.exchange.model.grouping import GROUP_BY

    if word is not None and word not in GROUP_BY:
        raise UsageError(f"--group-by is layer, part, module or operator, not {word!r}{did_you_mean(word, GROUP_BY)}")
    return word


def _experts_read(word: str | None) -> str | None:
    """Refuse an unknown word for the experts read before anything is read."""
    from mtpp_dsl.core.errors import UsageError, did_you_mean
    from mtpp_dsl.exchange.model.sizes import EXPERTS_READ

    if word is not None and word not in EXPERTS_READ:
        raise UsageError(f"--experts-read is expected or all_distinct, not {word!r}{did_you_mean(word, EXPERTS_READ)}")
    return word


GroupBy = Annotated[
    str | None,
    option(
        "GROUPS",
        "Default of group_by in specs: layer, part, module or operator. The file keeps all operators.",
        callback=_group_by,
    ),
]
ExpertsRead = Annotated[
    str | None,
    option(
        "WORD",
        "Default of experts_read in specs: expected or all_distinct.",
        callback=_experts_read,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
Flop = Annotated[
    list[str],
    option("NAME=FORMULA", "FLOP of an operation or operator whose cost is unknown; may be repeated."),
]
ImagesOfEach = Annotated[
    int | None, option("N", "Default of images: those of each sequence, for a model that reads them; 1.", min=0)
]
ImageSize = Annotated[
    str | None, option("HxW", "Pixels of each image; by default, what the model is made for, or 896x896.")
]
Sizes = Annotated[
    list[str],
    option("NAME=SIZE", "Give a symbol of the model a value, such as batch=8; may be repeated.", "--size"),
]


@command
def links(
    path: Annotated[Path, argument("FILE.csv", "A table of links.")],
    output: Spec = None,
    unit: Annotated[str | None, option("UNIT", "Unit of the bandwidths, if the table has none.")] = None,
    both_ways: Annotated[bool, typer.Option("--both-ways", help="Each row is a link in both directions.")] = False,
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
    path: Annotated[Path, argument("FILE", "What nvidia-smi topo -m printed.")],
    output: Spec = None,
    devices: Annotated[str, typer.Option(metavar="NAME", help="The GPUs are NAME[0], NAME[1] and so on.")] = "gpu",
    types: Annotated[
        list[str],
        option(
            "TYPE",
            "Type of the GPUs in the library; repeat it for GPUs that differ. By default, the spec gives types.",
            "--type",
        ),
    ] = [],  # noqa: B006
    rate: Annotated[
        list[str],
        option(
            "CODE=RATE", "Take this bandwidth for PIX, PXB, PHB, NODE or SYS, or for one NVLink (NV); may be repeated."
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


@dataclass(frozen=True, kw_only=True)
class OnnxCall:
    """The arguments of ``mtpp import onnx``, as given."""

    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="An ONNX file.")]
    output: Output
    size: Sizes = field(default_factory=list)
    flop: Flop = field(default_factory=list)
    group_by: GroupBy = None
    experts_read: ExpertsRead = None
    quiet: Quiet = False


@command
def onnx(call: OnnxCall) -> int:
    """Import an ONNX file: its operators with shapes, operations and bytes.

    Weights are not read, and nothing is run. Sizes that the file names, such as batch, stay symbols.
    """
    from mtpp_dsl.cli.imported import finish, prepare, sizes_of
    from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given

    prepare(call.output)
    return finish(from_onnx(call.model, sizes_of(call.size), formulas_given(call.flop)), call)


@dataclass(frozen=True, kw_only=True)
class Pt2Call(OnnxCall):
    """The arguments of ``mtpp import pt2``, as given."""

    model: Annotated[Path, typer.Argument(metavar="MODEL.pt2", help="What torch.export.save wrote.")]


@command
def pt2(call: Pt2Call) -> int:
    """Import an archive of torch.export: its operators, from its JSON alone.

    Torch is not needed. Weights and pickles in the archive are not opened, and nothing is run. Sizes that may vary stay
    symbols; torch calls them s0, s1 and so on: --size s0=batch gives one another name.
    """
    from mtpp_dsl.cli.imported import finish, prepare, sizes_of
    from mtpp_dsl.exchange.importers.pt2.importer import from_pt2
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given

    prepare(call.output)
    return finish(from_pt2(call.model, sizes_of(call.size), formulas_given(call.flop)), call)


@dataclass(frozen=True, kw_only=True)
class GgufCall:
    """The arguments of ``mtpp import gguf``, as given."""

    model: Annotated[Path, typer.Argument(metavar="MODEL.gguf", help="A GGUF file, or the first of a split model.")]
    output: Output
    phase: Annotated[str, typer.Option(metavar="NAMES", help="prefill, decode, or both.")] = "prefill,decode"
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Default of batch: sequences at a time.")] = 1
    seq: Annotated[int, typer.Option(min=1, metavar="N", help="Default of seq: tokens of each sequence.")] = 2048
    mmproj: Annotated[Path | None, option("FILE.gguf", "The tower of a model that reads images.")] = None
    images: ImagesOfEach = None
    image_size: ImageSize = None
    group_by: GroupBy = None
    experts_read: ExpertsRead = None
    quiet: Quiet = False


@command
def gguf(call: GgufCall) -> int:
    """Import a GGUF file of llama.cpp: its layers, from the header and the table of tensors alone.

    Both phases are written unless you name one: prefill runs all tokens of the sequences at once, decode one more token
    of each with its cache of keys and values. With --mmproj, the tower runs before them in prefill; seq counts the
    tokens that images become.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.exchange.importers.gguf.importer import from_gguf
    from mtpp_dsl.exchange.importers.torch_inputs import sides_given

    prepare(call.output)
    model = from_gguf(
        call.model,
        tuple(call.phase.split(",")),
        call.batch,
        call.seq,
        mmproj=call.mmproj,
        images=call.images,
        image_size=None if call.image_size is None else sides_given(call.image_size),
    )
    return finish(model, call)


Optimizer = Annotated[
    str,
    typer.Option(
        metavar="adam|sgd|BYTES",
        help="With train: the optimizer, or its bytes for each number of a parameter.",
    ),
]
Ratio = Annotated[
    float | None,
    option("NUMBER", "With train: a backward pass costs this many forward passes; by default, torch derives it."),
]


@dataclass(frozen=True, kw_only=True)
class TorchCall:
    """The arguments of ``mtpp import torch``, as given."""

    target: Annotated[str, argument("MODULE:CALLABLE", "What makes the torch.nn.Module.")]
    output: Output
    inputs: Annotated[
        list[str],
        option(
            "'NAME: TYPE[SIZE, …]'",
            "An input of forward, such as 'ids: int64\\[batch, seq]'; may be repeated.",
            "--input",
        ),
    ] = field(default_factory=list)
    values: Annotated[
        list[str],
        option("NAME=NUMBER", "The default of a size, such as batch=1.", "--set"),
    ] = field(default_factory=list)
    device: Annotated[str, typer.Option(help="Make the module on meta (without memory) or cpu.")] = "meta"
    phase: Annotated[str, typer.Option(metavar="forward|train", help="What the model does.")] = "forward"
    optimizer: Optimizer = "adam"
    backward_ratio: Ratio = None
    flop: Flop = field(default_factory=list)
    group_by: GroupBy = None
    experts_read: ExpertsRead = None
    quiet: Quiet = False


@command
def torch(call: TorchCall) -> int:
    """Import a model of torch. This runs the code of MODULE, as Python does when it imports it.

    MODULE is a package or module that Python finds, from the current folder too, or a file such as model.py. CALLABLE
    is called without arguments and returns a torch.nn.Module. Sizes of inputs that are names stay open: a spec
    chooses them.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.cli.screen import say
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given, numbers_given, read_input
    from mtpp_dsl.exchange.importers.torch_model import check_target, import_torch

    prepare(call.output)
    check_target(call.target)
    given = [read_input(text) for text in call.inputs]
    numbers, formulas = numbers_given(call.values), formulas_given(call.flop)
    if not call.quiet:
        say(f"mtpp: running the code of {call.target.rpartition(':')[0] or call.target}", stderr=True)
    model = import_torch(
        call.target,
        given,
        numbers,
        device=call.device,
        phase=call.phase,
        optimizer=call.optimizer,
        backward_ratio=call.backward_ratio,
        flops=formulas,
    )
    return finish(model, call)


@dataclass(frozen=True, kw_only=True)
class HfCall:
    """The arguments of ``mtpp import hf``, as given."""

    config: Annotated[Path, argument("CONFIG", "A config.json, or its folder.")]
    output: Output
    phase: Annotated[str, typer.Option(metavar="PHASES", help="prefill, decode or train; several with commas.")] = (
        "prefill"
    )
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Default of batch.")] = 1
    seq: Annotated[
        int, typer.Option(min=1, metavar="N", help="Default of seq: tokens of a prompt, or in the cache of a decode.")
    ] = 2048
    dtype: Annotated[
        str | None,
        typer.Option(help="Type of the weights: bf16, fp16 or fp32; by default, that of the file.", show_default=False),
    ] = None
    layers: Annotated[int | None, option("N", "Import the model with this many layers of text.", min=1)] = None
    images: ImagesOfEach = None
    image_size: ImageSize = None
    optimizer: Optimizer = "adam"
    backward_ratio: Ratio = None
    flop: Flop = field(default_factory=list)
    group_by: GroupBy = None
    experts_read: ExpertsRead = None
    quiet: Quiet = False


@command
def hf(call: HfCall) -> int:
    """Import a model of Hugging Face by its configuration alone: no weights, no network, no code of the file.

    seq, batch and images stay open where torch can keep them so: a spec chooses them. seq counts the tokens that
    images become.
    """
    from mtpp_dsl.cli.imported import finish, prepare
    from mtpp_dsl.exchange.importers.hf import from_hf
    from mtpp_dsl.exchange.importers.torch_inputs import formulas_given, sides_given

    prepare(call.output)
    model = from_hf(
        call.config,
        call.phase,
        batch=call.batch,
        seq=call.seq,
        dtype=call.dtype,
        layers=call.layers,
        optimizer=call.optimizer,
        backward_ratio=call.backward_ratio,
        flops=formulas_given(call.flop),
        images=call.images,
        image_size=None if call.image_size is None else sides_given(call.image_size),
    )
    return finish(model, call)
