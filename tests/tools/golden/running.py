"""Runs of (problem, method) pairs in processes side by side, each one killed where it takes far too long."""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
DATA = Path(os.environ.get("MTPP_DATA", ROOT.parent / "shared" / "data"))
if not DATA.is_dir():
    DATA = ROOT.parents[1] / "shared" / "data"
GRACE = 20.0
"""Seconds that a run may take beyond its time limit before it is killed."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

Answer = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One problem and one method, with the time that it has.

    Attributes:
        problem: family and name, such as "makespan/layered-9-plain".
        method: of the registry; ``+`` names a solver.
        limit: seconds.
    """

    problem: str
    method: str
    limit: float


@dataclass
class Runner:
    """What answers tasks.

    Attributes:
        python: the interpreter, of the checkout that is asked.
        jobs: processes side by side.
        options: of the constructor of a method, by its name.
    """

    python: str = sys.executable
    jobs: int = 2
    options: dict[str, dict[str, Any]] = field(default_factory=dict)

    def methods(self) -> list[str]:
        """Return the names of all methods that the checkout has."""
        worker = _Worker(self.python)
        try:
            found = worker.ask({}, 60)
        finally:
            worker.end()
        if not isinstance(found, list):
            raise SystemExit(f"{self.python} cannot import mtpp_dsl: is it installed there?")
        return found

    def run(self, tasks: Sequence[Task], told: Callable[[Task, Answer], None]) -> None:
        """Answer all tasks; those of one method one after the other in one process, those cut off by the clock last."""
        groups: dict[str, list[Task]] = {}
        for task in tasks:
            groups.setdefault(task.method, []).append(task)
        waiting: queue.SimpleQueue[list[Task]] = queue.SimpleQueue()
        for group in sorted(groups.values(), key=lambda group: -sum(min(task.limit, 3) for task in group)):
            waiting.put(sorted(group, key=lambda task: -task.limit))
        lock = threading.Lock()

        def work() -> None:
            while True:
                try:
                    group = waiting.get_nowait()
                except queue.Empty:
                    return
                for task, answer in self._answers(group):
                    with lock:
                        told(task, answer)

        threads = [threading.Thread(target=work) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _answers(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
        worker = _Worker(self.python)
        for task in tasks:
            found = worker.ask(
                {
                    "text": text_of(task.problem),
                    "method": task.method,
                    "limit": task.limit,
                    "options": self.options.get(task.method, {}),
                },
                task.limit + GRACE,
            )
            if found is None:
                code = worker.end()
                found = {"kind": "overran" if code is None else "died"}
                worker = _Worker(self.python)
            yield task, found
        worker.end()


class _Worker:
    """A process of worker.py."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(FOLDER / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=FOLDER,
            env={**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0"},
            text=True,
            start_new_session=True,
        )

    def ask(self, task: dict[str, Any], seconds: float) -> Any:
        """Return what the process answers; None where it has died, or says nothing for so many seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(json.dumps(task), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            return None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def end(self) -> int | None:
        """End the process and all that it has started; return its exit status, None where it was still running."""
        code = self.process.poll()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.communicate()
        return code


def problems() -> list[str]:
    """Return the names of all problems whose files are there."""
    found = sorted(path.relative_to(FOLDER / "problems") for path in (FOLDER / "problems").rglob("*.mtpp"))
    names = [path.with_suffix("").as_posix() for path in found]
    return [name for name in names if DATA.is_dir() or "$DATA" not in _read(name)]


def text_of(problem: str) -> str:
    """Return the text of a problem; ``$DATA`` stands for the folder of published workloads."""
    return _read(problem).replace("$DATA", str(DATA))


def _read(problem: str) -> str:
    return (FOLDER / "problems" / f"{problem}.mtpp").read_text(encoding="utf-8")
