"""Have the innermost loops of methods compiled before they are needed, by solving small problems of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.compiling import KERNELS, compile_always
from mtpp_dsl.core.base.preparation import PREPARING
from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Installed, Method
from mtpp_dsl.core.errors import Ended, UsageError, did_you_mean
from mtpp_dsl.core.executors.local import Local
from mtpp_dsl.core.executors.wire import Wire
from mtpp_dsl.solving.plugins.rare_loops import rare
from mtpp_dsl.solving.plugins.samples import large, large_schedule, small

SAMPLE, WHOLE, RARE = 0.2, 12.0, 2.0
"""Seconds that a method gets for one sample, for all of them, and for each that needs rare loops.

What it compiles meanwhile is not counted.
"""


class Warmed(NamedTuple):
    """What one method has compiled.

    Attributes:
        method: its name.
        kernels: names of the loops that are now compiled and that this process had not used before.
        seconds: that compiling them, or loading them from disk, took.
        lost: why this did not end well; "" if it did.
        unkept: loops whose code no folder could be found for: it is gone when the process ends.
        unused: loops of the modules that are imported which no sample has needed yet.
    """

    method: str
    kernels: tuple[str, ...] = ()
    seconds: float = 0.0
    lost: str = ""
    unkept: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def methods_to_warm(names: Sequence[str]) -> list[str]:
    """Return the names of the methods to warm: those that are given, or all.

    Raises:
        UsageError: one of the names is that of no method.
    """
    available = list(registry.available(registry.METHODS))
    for name in names:
        if name not in available:
            raise UsageError(f"there is no method {name!r} that could be compiled{did_you_mean(name, available)}")
    # auto runs the others, in its own order: by itself it would keep one process for as long as all of them
    return list(dict.fromkeys(names)) or [name for name in available if name != "auto"]


def warm(methods: Sequence[str], jobs: int) -> Iterator[Warmed]:
    """Yield what each method has compiled, in *jobs* processes of this machine, as they end."""
    waiting: SimpleQueue[str | None] = SimpleQueue()
    done: SimpleQueue[Warmed] = SimpleQueue()
    for name in (*methods, *[None] * jobs):
        waiting.put(name)
    executor = Local(f"local:{jobs}")
    for _ in range(min(jobs, len(methods))):
        Thread(target=_keep_warming, args=(executor, waiting, done), daemon=True).start()
    for _ in methods:
        yield done.get()


def _keep_warming(executor: Local, waiting: SimpleQueue[str | None], done: SimpleQueue[Warmed]) -> None:
    """Give one process a method after another, and another process the rest where it ends before its time."""
    channel = None
    while (name := waiting.get()) is not None:
        try:
            channel = channel or executor.start(__name__)
            channel.tell(name)
            done.put(channel.hear())
        except (Ended, OSError) as error:  # it died, or none could be started
            done.put(Warmed(name, lost=str(error)))
            if channel is not None:
                channel.end()
            channel = None
    if channel is not None:
        channel.end()


def main(wire: Wire) -> None:
    """Compile for one method after another, whose names come by the wire, until it ends."""
    compile_always()
    while True:
        try:
            name = wire.receive()
        except EOFError:
            return
        wire.send(_warmed(name))


def _warmed(name: str) -> Warmed:
    """Solve samples by a method until its time is up."""
    before = {id(kernel) for kernel in KERNELS if kernel.ready}
    began, preparing = monotonic(), PREPARING.seconds
    lost = ""
    try:
        method: Method = registry.load(registry.METHODS, name)()
        samples = (
            ()
            if isinstance(method, Installed) and not method.available().ok
            else (large_schedule(), large(), *small().values())
        )
        for problem in samples:
            if method.accepts(problem) is None:
                method.solve(problem, Limits(time=SAMPLE, threads=1), Progress())
            if monotonic() - began - (PREPARING.seconds - preparing) > WHOLE:
                break
        for problem in rare(name) if samples else ():
            if method.accepts(problem) is None:
                method.solve(problem, Limits(time=RARE, threads=1), Progress())
    except Exception as error:  # of a plug-in, perhaps: the others are to be compiled all the same
        lost = f"{type(error).__name__}: {error}"
    new = [kernel for kernel in KERNELS if kernel.ready and id(kernel) not in before]
    return Warmed(
        name,
        tuple(dict.fromkeys(kernel.name for kernel in new)),
        PREPARING.seconds - preparing,
        lost,
        tuple(kernel.name for kernel in new if kernel.folder is None),
        tuple(kernel.name for kernel in KERNELS if not kernel.ready),
    )
