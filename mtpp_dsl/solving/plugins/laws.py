"""Check what constraints, targets and executors of plug-ins must keep to, and say in words which law they break."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.checks.verification import TOLERANCE, cost_of, verify
from mtpp_dsl.core import registry
from mtpp_dsl.core.contracts.executors import Channel, Executor
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Formulation, Method
from mtpp_dsl.core.contracts.targets import Split, Stamp, Target
from mtpp_dsl.core.errors import Ended, MtppError, PluginError, UsageError
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.problem.custom import CustomConstraint
from mtpp_dsl.core.problem.devices import Device, Shared
from mtpp_dsl.core.problem.graph import Graph
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.core.problem.variants import targeted
from mtpp_dsl.solving.plugins.samples import small

TRIED = (
    "diamond", "chain", "three devices", "host", "training", "anything goes", "together", "few", "makespan",
    "exclusive links", "latency", "latency on shared", "batch throughput", "batches of chunks",
)  # fmt: skip
"""The small problems to which the constraint is added: of every kind some."""
MAX_SWAPPED = 100
"""Plans of a problem in which devices are swapped."""


def broken_constraint_laws(constraint: CustomConstraint, solver: str) -> Iterator[str]:
    """Yield every law that *constraint* breaks, in words, with the small problem on which it does.

    Args:
        constraint: of the plug-in, which is added to problems that it has nothing against.
        solver: the MIP solver of the formulations.
    """
    yield from _as_data(constraint)
    solved = 0
    for name, free in ((name, small()[name]) for name in TRIED if name in small()):
        if constraint.refusal(free) is not None or not _fits(constraint, free):
            continue
        problem = free.with_constraints([*free.constraints, constraint])
        feasible = list(plans(problem))
        best = min((cost_of(problem, plan) for plan in feasible), default=None)
        for form in _formulations():
            if form.accepts(problem) is None:
                solved += 1
                fault = _answered(form, solver, problem, best)
                if fault:
                    yield f"{name}: {fault}"
        if constraint.symmetric and _tells_apart(free, constraint):
            yield f"{name}: it says that it is symmetric, and swapping two equal devices breaks it, or mends it"
    if not solved:
        yield "no formulation accepts any of the small problems with it"


def _as_data(constraint: CustomConstraint) -> Iterator[str]:
    """Yield why the constraint cannot be a part of a problem, which is hashed, compared and sent to other processes."""
    if not constraint.keyword.isidentifier():
        yield f"the keyword is {constraint.keyword!r}, which a spec cannot say"
    try:
        hash(constraint)
        if pickle.loads(pickle.dumps(constraint)) != constraint:
            yield "read back from a pickle, it is another one"
    except Exception as error:
        yield f"it cannot be hashed or pickled: {error!r}"


def _fits(constraint: CustomConstraint, problem: Problem) -> bool:
    """Return whether a problem has the nodes and devices that the constraint speaks of."""
    last = (max(constraint.nodes or (0,)), max(constraint.devices or (0,)))
    return last[0] < problem.graph.n and last[1] < problem.k


def _formulations() -> Iterator[Formulation]:
    """Yield the built-in formulations that give plans and are not there to be compared with."""
    for name in registry.BUILTIN[registry.FORMULATIONS]:
        form = registry.load(registry.FORMULATIONS, name)()
        if form.role == "exact" and not form.baseline:
            yield form


def _answered(form: Formulation, solver: str, problem: Problem, best: float | None) -> str:
    """Return what is wrong with the answer of a formulation, the least cost of a plan being *best*; "" if nothing."""
    method: Method = registry.built_in("mtpp_dsl.solvers.methods.mip.mip_method:MipMethod")(form, solver)
    try:
        result = method.solve(problem, Limits(time=60.0, threads=1), Progress())
    except MtppError as error:
        return f"{form.name} fails: {error}"
    if result.plan is not None and verify(problem, result.plan):
        return f"{form.name} returns a plan that breaks it"
    if best is None:
        return "" if result.infeasibility is not None else f"{form.name} does not find that there is no plan"
    if result.infeasibility is not None:
        return f"rows() excludes all plans in {form.name}, and violations() allows one of cost {best:.9g}"
    if result.bound is not None and result.bound.cost > best * (1 + TOLERANCE):
        bound = result.bound.cost
        return f"rows() is stricter than violations(): {form.name} proves {bound:.9g}, and a plan costs {best:.9g}"
    if result.plan is None or cost_of(problem, result.plan) > best * (1 + TOLERANCE):
        return f"rows() is weaker than violations(): {form.name} finds no plan of cost {best:.9g}"
    return ""


def _tells_apart(problem: Problem, constraint: CustomConstraint) -> bool:
    """Return whether swapping two equal devices turns a plan that keeps the constraint into one that breaks it."""
    among = set(range(problem.k) if constraint.devices is None else constraint.devices)
    equal = [
        (d, e)
        for d, e in combinations(range(problem.k), 2)
        if replace(problem.devices[d], name="") == replace(problem.devices[e], name="")
        and np.array_equal(problem.time[:, d], problem.time[:, e])
        and (d in among) == (e in among)
    ]
    if problem.timed:
        return False
    for count, plan in enumerate(plans(problem)):
        for d, e in equal if count < MAX_SWAPPED else ():
            to = np.arange(problem.k)
            to[[d, e]] = e, d
            other = Plan.create(problem, to[plan.assignment])
            if bool(list(constraint.violations(problem, plan))) != bool(list(constraint.violations(problem, other))):
                return True
    return False


MAX_PLANS = 40
"""Plans of each stack that are written and read back."""
GARBAGE = ("", "\0", "[[[[", '{"a": [', "no split")
STAMP = Stamp("laws.mtpp", ("gpu[0]", "gpu[1]"), 12.25, 11.5, "bottleneck", "s", model_name="laws of targets")


def stacks() -> dict[str, Problem]:
    """Return stacks of layers by name: of one node each and of two, on two and on three devices."""
    problems = {}
    for parts, k in (("layer",), 2), (("attn", "mlp"), 2), (("layer",), 3):
        layers = [f"{part}[{i}]" for i in range(3 if len(parts) == 1 else 2) for part in parts]
        names = ["embed", *layers, "head"]
        edges = [(v, v + 1) for v in range(len(names) - 1)]
        work = [float(1 + v % 3) for v in range(len(names))]
        graph = Graph.create(names, edges, work=work, params=work, output=[1.0] * len(names))
        devices = [Device(f"gpu[{d}]", speed=1.0 + d, memory=100.0) for d in range(k)]
        problems[f"{len(layers)} {' and '.join(parts)} on {k}"] = Problem.create(graph, devices, Shared(4.0))
    return problems


def broken_target_laws(target: Target) -> Iterator[str]:
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
    if not files or any(Path(name).name != name for name in files):
        yield f"the names of the files are {list(files)}; one at least, and no folders in them"
        return
    contents = [content for content in files.values() if not callable(content)]
    whole = "".join(content if isinstance(content, str) else content.decode("utf-8", "replace") for content in contents)
    if contents and STAMP.model_name not in whole:
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
            yield from _read_back(target, problem, plan, source)


def _read_back(target: Target, problem: Problem, plan: Plan, source: Path | str) -> Iterator[str]:
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


ECHO = "mtpp_dsl.solving.plugins.echo"
LONG = 1 << 20
"""Bytes of a message that fits into no pipe."""
PATIENCE = 30.0
"""Seconds that an answer may take on a busy machine."""


def broken_executor_laws(executor: Executor) -> Iterator[str]:
    """Yield what *executor* breaks of its contract."""
    if executor.slots < 1 or executor.room < 1:
        yield f"slots {executor.slots} and room {executor.room} must be 1 or more"
    with _started(executor) as channel:
        yield from _talking(channel)
        yield from _ending(channel)
    with _started(executor) as one, _started(executor) as other:
        one.tell(("echo", 1))
        one.end()
        other.tell(("echo", 2))
        if (heard := other.hear(PATIENCE)) != 2:
            yield f"another process has ended, and {heard!r} was heard where 2 was to be"
        if _why(lambda: one.hear(PATIENCE) and one.hear(PATIENCE)) is None:
            yield "a process that was ended must be told of by Ended"
    with _started(executor, "mtpp_dsl.no_such_module") as channel:
        if "no_such_module" not in (_why(lambda: channel.hear(PATIENCE)) or ""):
            yield "a module that cannot be imported must be told of by Ended, with the reason"


@contextmanager
def _started(executor: Executor, module: str = ECHO) -> Iterator[Channel]:
    channel = executor.start(module)
    try:
        yield channel
    finally:
        channel.end()
        channel.end()  # may be called again


def _talking(channel: Channel) -> Iterator[str]:
    """Yield what is broken while a process lives."""
    if not isinstance(channel, Channel):
        yield f"start returned a {type(channel).__name__}, which lacks a part of the contract Channel"
    values: list[object] = [0, "", None, {"a": [1.5]}, "x" * LONG, b"y" * LONG, 7]
    for value in values:
        channel.tell(("echo", (value,)))
    heard = [channel.hear(PATIENCE) for _ in values]
    if heard != [(value,) for value in values]:
        yield "messages must arrive whole and in order"
    channel.tell(("print", "no message"))
    if (heard := channel.hear(PATIENCE)) != "":
        yield f"what a process prints is no message, and it has nothing to read but its wire: {str(heard)[:80]!r}"
    began = monotonic()
    if channel.hear(0.05) is not None or monotonic() - began > PATIENCE / 2:
        yield "hear must return None soon after its time where nothing was sent"
    channel.tell(("age", None))
    if not 0.0 <= (age := channel.hear(PATIENCE)) <= PATIENCE:
        yield f"wire.born must be when the process was started, by its own clock: it is {age} s ago"
    if not channel.alive:
        yield "alive must be True while the process runs"
    try:
        channel.tell(("echo", lambda: None))
    except Exception as error:
        if isinstance(error, OSError):
            yield f"a message that cannot be pickled must be its error, not {error!r}"
    else:
        yield "a message that cannot be pickled must be an error at once"


def _ending(channel: Channel) -> Iterator[str]:
    """Yield what is broken when a process ends by itself."""
    channel.tell(("echo", "last"))
    channel.tell(("exit", "its last words"))
    if (heard := channel.hear(PATIENCE)) != "last":
        yield f"what was sent before the end must be heard: {heard!r}"
    for _ in range(2):
        if "its last words" not in (_why(lambda: channel.hear(PATIENCE)) or ""):
            yield "the end of a process must be Ended each time, with the last that it printed on standard error"
    if channel.alive:
        yield "alive must be False when the end was heard"
    channel.tell(("echo", 1))  # has no receiver


def _why(action: Callable[[], Any]) -> str | None:
    """Return what ``Ended`` says; None where it is not raised."""
    try:
        action()
    except Ended as error:
        return str(error)
    return None
