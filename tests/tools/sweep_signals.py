"""Send a signal at every moment of a run: ``python -m tests.tools.sweep_signals [SIGINT|SIGTERM] [--every 0.05]``."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["Ended", "complaint", "interrupted", "sweep"]

QUICK = Path(__file__).parent.parent.parent / "examples" / "quickstart.mtpp"
WORDS = {"SIGINT": ("interrupted", 130), "SIGTERM": ("terminated", 143)}
OURS = ("mtpp_dsl/", "solvers/", "models/")


@dataclass(frozen=True)
class Ended:
    """How a run ended that was sent a signal.

    Attributes:
        sent: the signal, by number.
        moment: when it was sent, in seconds after the start.
        code: the exit code; negative for a death by a signal.
        seconds: from the signal to the end.
        out, err: what was written.
        written: whether the JSON answer is there.
    """

    sent: int
    moment: float
    code: int
    seconds: float
    out: str
    err: str
    written: bool


def interrupted(spec: Path, number: int, moment: float) -> Ended:
    """Send a signal to ``mtpp solve`` after *moment* seconds, and wait for its end."""
    with TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, "-m", "mtpp_dsl", "solve", str(spec), "--json", str(answer)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(moment)
        began = time.monotonic()
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        return Ended(number, moment, child.returncode, time.monotonic() - began, out, err, answer.exists())


def complaint(ended: Ended) -> str | None:
    """Return what is wrong with how a run ended, or None.

    Before it has reached our code the interpreter dies of signals in its own way, which no program can change.
    """
    word, code = WORDS[signal.Signals(ended.sent).name]
    early = not any(part in ended.err for part in OURS) and not ended.out
    if early and (ended.code == -ended.sent or (ended.code == 1 and "KeyboardInterrupt" in ended.err)):
        return None
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        return f"a traceback:\n{ended.err}"
    if ended.code not in (0, code):
        return f"exit code {ended.code}"
    if ended.code == 0 and not (ended.written and "bottleneck" in ended.out):
        return "it says that all went well, and there is no answer"
    if ended.code == code and word not in ended.err:
        return f"it does not say that it was {word}: {ended.err!r}"
    if ended.written != ("bottleneck" in ended.out):
        return "an answer is written and not printed, or the other way round"
    return None


def sweep(spec: Path, number: int, every: float) -> Iterator[Ended]:
    """Interrupt runs ever later, until one has ended by itself before the signal came."""
    moment = 0.0
    while True:
        ended = interrupted(spec, number, moment)
        yield ended
        if ended.code == 0 and ended.seconds < 0.001:
            return
        moment += every


def main() -> None:
    """Sweep, print a line per moment, and fail if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("signals", nargs="*", metavar="SIGNAL", default=list(WORDS))
    parser.add_argument("--every", type=float, default=0.05, help="seconds")
    parser.add_argument("--spec", type=Path, default=QUICK)
    given = parser.parse_args()
    wrong = 0
    for name in given.signals:
        for ended in sweep(given.spec, getattr(signal, name), given.every):
            problem = complaint(ended)
            wrong += problem is not None
            answer = "answer" if ended.written else "no answer"
            print(f"{name} at {ended.moment:.2f} s: {ended.code}, {answer}, {ended.seconds:.2f} s  {problem or ''}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
