"""A method that does to its process what a method should not; installed in a folder, it is found as a plug-in is."""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

from mtpp_dsl.core.contracts.limits import Limits, Progress
from mtpp_dsl.core.contracts.protocols import Gives
from mtpp_dsl.core.plans.plan import Plan
from mtpp_dsl.core.plans.result import Result
from mtpp_dsl.core.problem.problem import Problem

HELD: list[object] = []
GROW = "import time; held = bytearray(400 << 20); held[::4096] = b'x' * len(held[::4096]); time.sleep(60)"


class Hostile:
    """Do one thing to the process, then answer with all nodes on the first device.

    Args:
        way: what to do; "" for nothing.
        note: of a file where the number of a process that was started is written.
    """

    name = "hostile"
    gives: Gives = "plan"
    summary = "does to its process what a method should not"

    def __init__(self, way: str = "", note: str = "") -> None:
        self.way, self.note = way, note

    def accepts(self, problem: Problem) -> str | None:
        return None

    def solve(self, problem: Problem, limits: Limits, progress: Progress) -> Result:
        if self.way:
            getattr(self, self.way)()
        device = int(random.random() * problem.k) if self.way == "global_random" else 0
        return progress.result(self.name, limits, "complete", plan=Plan.create(problem, [device] * problem.graph.n))

    def global_random(self) -> None:
        """Do nothing: the device is drawn from the generator that all share."""

    def raises(self) -> None:
        raise ValueError("a value that nobody expected")

    def leaves(self) -> None:
        sys.exit(3)

    def segfaults(self) -> None:
        ctypes.string_at(0)

    def is_killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def holds_the_lock(self) -> None:
        """Never end, and never let another thread run."""
        all(itertools.repeat(1))

    def waits(self) -> None:
        time.sleep(600)

    def talks(self) -> None:
        """Print 50 MB to where anybody would look for an answer."""
        for _ in range(50):
            os.write(1, b"\x00garbage {\n" * 100_000)

    def forges(self) -> None:
        """Write to every pipe of the process, the wire with them."""
        for number in range(3, 64):
            try:
                os.set_blocking(number, False)
                os.write(number, b"garbage that is no frame\n" * 10)
            except OSError:
                continue

    def grows(self) -> None:
        """Take 10 GB, and touch each page of it."""
        HELD.extend(bytearray(b"x") * (64 << 20) for _ in range(160))

    def keeps(self) -> None:
        """Keep 320 MB for good."""
        HELD.append(bytearray(b"x") * (320 << 20))

    def works_once(self) -> None:
        """Crash in a process in which this was done before."""
        if HELD:
            os.abort()
        HELD.append(None)

    def child_grows(self) -> None:
        """Have a process in a session of its own take the memory."""
        child = subprocess.Popen([sys.executable, "-c", GROW], start_new_session=True)
        Path(self.note).write_text(str(child.pid), encoding="ascii")
        time.sleep(60)

    def exhausts(self) -> None:
        raise MemoryError

    def leaves_a_child(self) -> None:
        """Leave a process behind whose parent has ended, in a session of its own."""
        start = "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n"
        start += "    open(sys.argv[1], 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
        subprocess.run([sys.executable, "-c", start, self.note], check=True)
        while not Path(self.note).exists() or not Path(self.note).read_text(encoding="ascii"):
            time.sleep(0.01)
        os._exit(1)

    def leaves_a_thread(self) -> None:
        """Leave a thread behind."""
        Thread(target=time.sleep, args=(60,), daemon=True).start()

    def goes_elsewhere(self) -> None:
        os.chdir("/")


def install(folder: Path) -> Path:
    """Install the method in a folder, as ``pip install --target`` would; on ``sys.path`` it is found."""
    shutil.copy(__file__, folder / "mtpp_hostile.py")
    facts = folder / "mtpp_hostile-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mtpp-hostile\nVersion: 1.0\n", encoding="ascii")
    (facts / "entry_points.txt").write_text("[mtpp_dsl.methods]\nhostile = mtpp_hostile:Hostile\n", encoding="ascii")
    return folder
