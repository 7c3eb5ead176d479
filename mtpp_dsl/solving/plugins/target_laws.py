"""Check what a target must keep to: it adds constraints alone, and reads back what it has written, on small stacks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.contracts.targets import Split, Stamp, Target
from mtpp_dsl.core.errors import MtppError, PluginError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import targeted

__all__ = ["broken_laws", "stacks"]

MAX_PLANS = 40
"""Plans of each stack that are written and read back."""
GARBAGE = ("", "\0", "[[[[", '{"a": [', "no split")
STAMP = Stamp("laws.mtpp", ("gpu[0]", "gpu[1]"), 12.25, 11.5, "bottleneck", "s", model_name="laws of targets")


def stacks() -> dict[str, Problem]:
    """Return stacks of layers by name: of one node each and of two, on two and on three devices."""
    found = {}
    for parts, k in (("layer",), 2), (("attn", "mlp"), 2), (("layer",), 3):
        layers = [f"{part}[{i}]" for i in range(3 if len(parts) == 1 else 2) for part in parts]
        names = ["embed", *layers, "head"]
        edges = [(v, v + 1) for v in range(len(names) - 1)]
        work = [float(1 + v % 3) for v in range(len(names))]
        graph = Graph.create(names, edges, work=work, params=work, output=[1.0] * len(names))
        devices = [Device(f"gpu[{d}]", speed=1.0 + d, memory=100.0) for d in range(k)]
        found[f"{len(layers)} {' and '.join(parts)} on {k}"] = Problem.create(graph, devices, Shared(4.0))
    return found


def broken_laws(target: Target) -> Iterator[str]:
    """Yield every law that *target* breaks, in words, with the stack on which it does.

    It restricts one stack at least. Of every plan that its limits leave it writes files with plain names, one of which
    says where it came from; it reads the first of them back as that plan, from a file and from its text. A file that is
    missing, and one that is garbage, is a UsageError.
    """
    written = 0
    for name, problem in stacks().items():
        try:
            limited = targeted(problem, target.name, target.restrict)
        except UsageError:
            continue
        except PluginError as error:
            yield f"{name}: {error}"
            continue
        for plan in islice(plans(limited), MAX_PLANS):
            written += 1
            yield from (f"{name}, {plan.assignment.tolist()}: {broken}" for broken in _written(target, limited, plan))
        yield from (f"{name}: {broken}" for broken in _refusals(target, problem))
    if not written:
        yield "refuses every stack of layers, or leaves no plan of one, so that nothing could be checked"


def _written(target: Target, problem: Problem, plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the files of a plan that keeps to the limits."""
    try:
        files = target.export(problem, plan, STAMP)
    except UsageError as error:
        yield f"export() refuses a plan that the constraints of restrict() allow: {error}"
        return
    if not files or any(Path(each).name != each for each in files):
        yield f"the names of the files are {list(files)}; one at least, and no folders in them"
        return
    told = [content for content in files.values() if not callable(content)]
    whole = "".join(each if isinstance(each, str) else each.decode("utf-8", "replace") for each in told)
    if told and STAMP.model_name not in whole:
        yield "no file says what it was made from: write stamp.lines() as comments, or stamp.to_json() as a manifest"
    with TemporaryDirectory() as folder:
        for file, content in files.items():
            with Path(folder, file).open("wb") as out:
                if callable(content):
                    content(out)
                else:
                    out.write(content.encode() if isinstance(content, str) else content)
        first, content = next(iter(files.items()))
        sources: list[Path | str] = [Path(folder, first) if len(files) < 3 else Path(folder)]
        sources += [content] if isinstance(content, str) else []
        for source in sources:
            yield from _read(target, problem, plan, source)


def _read(target: Target, problem: Problem, plan: Plan, source: Path | str) -> Iterator[str]:
    what = "the file" if isinstance(source, Path) else "the text of the file"
    try:
        split = target.read(source, problem)
    except MtppError as error:
        yield f"read() refuses {what} that export() wrote: {error}"
        return
    if not isinstance(split, Split):
        yield f"read() returned a {type(split).__name__}, not a Split"
    elif split.assignment != tuple(plan.assignment.tolist()):
        yield f"read() takes {what} for another split: {list(split.assignment)}"


def _refusals(target: Target, problem: Problem) -> Iterator[str]:
    """Yield what is read, or fails in another way than with a UsageError, that is no file of the form."""
    for source in (*GARBAGE, Path("there", "is", "no", "such", "file")):
        try:
            target.read(source, problem)
        except UsageError:
            continue
        except Exception as error:  # whatever it is, it is not what was to come
            yield f"read({source!r}): expected a UsageError, got {error!r}"
        else:
            yield f"read({source!r}): it is taken for a split"
