"""``record FILE`` what every method answers on every problem, or ``compare [FILE]`` a checkout with a record.

    python -m tests.tools.golden compare                                 all, some five minutes on two idle cores
    python -m tests.tools.golden compare --quick                         a small part of every method, one minute
    python -m tests.tools.golden compare --only heft,peft --family makespan
    python -m tests.tools.golden compare --python ../before/.venv/bin/python     what another checkout answers
    python -m tests.tools.golden record record.json

What differs is said ("at first") and tried again alone, as the clock may have had a say on a busy machine. Lines with
DIFFERS, and exit status 1, mean that it still does. Values, bounds, certificates, plans, methods, statuses have to be
equal bit for bit where the clock had no say. Where it ends a search, plan and bound may be worse by
two per cent. Of ``auto``, status and proved value are compared. Texts of refusals are counted and, with ``--texts``,
listed. Bits are those of one machine and one set of packages: on another, record with the old code first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.tools.golden import comparing
from tests.tools.golden.comparing import Answer, differences
from tests.tools.golden.running import FOLDER, Runner, Task, problems

OPTIONS: dict[str, dict[str, Any]] = {
    "annealing": {"patience": 2},
    "ea": {"patience": 5},
    "latency-search": {"patience": 3},
    "brkga": {"population": 30, "generations": 10},
    "mla": {"population": 30, "generations": 10},
    "mla-weighted": {"population": 30, "generations": 10},
    "random": {"orders": 500},
    "dpl": {"orders": 5},
    "local-search": {"restarts": 3},
    "slicegraph": {"orders": 10},
}
"""What makes methods that would search for long end by themselves."""
TRIED, LONG, SETTLED, TIMED = 4.0, 2.5, 200.0, 1.0
"""Seconds: the limit of the first pass; from which a run is one for the clock; the limits of others, and of those."""
MAX_TIMED = 3
"""Of a method other than ``auto``, runs that the clock ends are recorded on so many problems."""
QUICK_SECONDS = 0.4
QUICK_PROBLEMS = (
    "bottleneck/layered-14", "bottleneck/memory-unequal", "bottleneck/training-forward", "bottleneck/infeasible",
    "host/layered-15", "makespan/layered-9-exclusive", "makespan/rwnn-channels", "latency/layered-10-shared",
    "batch/diamond-8",
)  # fmt: skip


def main() -> int:
    """Record or compare; return the exit status."""
    asked = arguments()
    runner = Runner(asked.python, asked.jobs, OPTIONS)
    began = time.monotonic()
    status = record(runner, asked) if asked.what == "record" else compare(runner, asked)
    print(f"{time.monotonic() - began:.0f} s")
    return status


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.golden", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path, nargs="?", default=FOLDER / "record.json")
    parser.add_argument("--only", help="methods, with commas between; exact+glpk is one, * at the end stands for more")
    parser.add_argument("--family", help="bottleneck, host, makespan, latency, batch; with commas between")
    parser.add_argument("--problem", help="part of the name of a problem")
    parser.add_argument("--quick", action="store_true", help="some short runs of every method")
    parser.add_argument("--settled", action="store_true", help="leave out what the clock ends: for a busy machine")
    parser.add_argument("--texts", action="store_true", help="list what refusals say now, and said")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the checkout that is asked")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side")
    return parser.parse_args()


def wanted(asked: argparse.Namespace, problem: str, method: str) -> bool:
    """Return whether a run is one of those that were asked for."""
    names = (asked.only or method).split(",")
    if not any(method == name or (name.endswith("*") and method.startswith(name[:-1])) for name in names):
        return False
    if problem.partition("/")[0] not in (asked.family or problem.partition("/")[0]).split(","):
        return False
    return (asked.problem or "") in problem and (not asked.quick or problem in QUICK_PROBLEMS)


def record(runner: Runner, asked: argparse.Namespace) -> int:
    """Run everything three times: to see what ends by itself, and twice to see what can be repeated."""
    tasks = [
        Task(problem, method, TRIED)
        for method in runner.methods()
        for problem in problems()
        if wanted(asked, problem, method)
    ]
    first = answers(runner, tasks)
    tasks = [Task(task.problem, task.method, SETTLED if settled(first[key(task)]) else TIMED) for task in tasks]
    tasks = list(few_timed(tasks))
    second = answers(runner, tasks)
    tasks = [task if settled(second[key(task)]) else Task(task.problem, task.method, TIMED) for task in tasks]
    tasks = list(few_timed(tasks))
    third = answers(runner, tasks)
    kept = {}
    for task in tasks:
        name = key(task)
        found = third[name]
        if task.limit == TIMED:
            found = {**found, "timed": True}
        elif task.method == "auto":
            found = {**found, "steps": True}
        else:
            unlike = comparing.loose(second[name], found)
            found = {**found, "loose": unlike} if unlike else found
        kept[name] = found
    comparing.write(asked.file, kept, {"options": runner.options, "seed": 1})
    timed, loose = (sum(what in found for found in kept.values()) for what in ("timed", "loose"))
    print(f"{len(kept)} answers in {asked.file}; {timed} by the clock, {loose} that differ between runs")
    return 0


def settled(answer: Answer) -> bool:
    """Return whether a run ended by itself, and soon."""
    if answer["kind"] in ("overran", "died"):
        return False
    return answer.get("termination") != "time_limit" and answer["seconds"] < LONG


def few_timed(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return the tasks without most of those that the clock ends."""
    kept: list[Task] = []
    counts: dict[str, int] = {}
    for task in tasks:
        if task.limit == TIMED and task.method != "auto":
            counts[task.method] = counts.get(task.method, 0) + 1
            if counts[task.method] > MAX_TIMED:
                continue
        kept.append(task)
    return kept


def key(task: Task) -> str:
    """Return the name of a task in a record."""
    return f"{task.problem} {task.method}"


def answers(
    runner: Runner, tasks: Sequence[Task], then: Callable[[Task, Answer], None] = lambda task, answer: None
) -> dict[str, Answer]:
    """Return what came of tasks, tell *then* of each, and say on a terminal how many are done."""
    found: dict[str, Answer] = {}

    def told(task: Task, answer: Answer) -> None:
        found[key(task)] = answer
        then(task, answer)
        if sys.stderr.isatty():
            print(f"\r{len(found)}/{len(tasks)} {key(task):60}", end="", file=sys.stderr, flush=True)

    runner.run(tasks, told)
    if sys.stderr.isatty():
        print("\r" + 76 * " " + "\r", end="", file=sys.stderr)
    return found


def compare(runner: Runner, asked: argparse.Namespace) -> int:
    """Run what is on record again, print what differs, and return whether anything does."""
    old, about = comparing.read(asked.file)
    runner.options = about["options"]
    here, methods = set(problems()), set(runner.methods())
    tasks = []
    gone = set()
    for name, answer in old.items():
        problem, method = name.split(" ")
        if problem not in here or not wanted(asked, problem, method):
            continue
        if method not in methods:
            gone.add(method)
            continue
        if asked.settled and answer.get("timed"):
            continue
        if not asked.quick or (answer.get("seconds", 9) < QUICK_SECONDS and not answer.get("timed")):
            tasks.append(Task(problem, method, TIMED if answer.get("timed") else SETTLED))

    def check(task: Task, answer: Answer, word: str) -> None:
        if what := list(differences(old[key(task)], answer)):
            print(f"{word} {key(task)}: {'; '.join(what)}", flush=True)

    new = answers(runner, tasks, lambda task, answer: check(task, answer, "at first"))
    again = [
        Task(task.problem, task.method, 4 * TIMED if task.limit == TIMED else task.limit)
        for task in tasks
        if any(differences(old[key(task)], new[key(task)]))
    ]
    runner.jobs = 1
    new |= answers(runner, again, lambda task, answer: check(task, answer, "DIFFERS"))
    wrong = {name for name, answer in new.items() if any(differences(old[name], answer))}
    texts = {(old[name].get("text"), answer.get("text")) for name, answer in new.items() if name not in wrong}
    texts = {(was, now) for was, now in texts if was != now}
    if asked.texts:
        for was, now in sorted(texts, key=str):
            print(f"- {was}\n+ {now}")
    missing = f", no method {', '.join(sorted(gone))} any more" if gone else ""
    print(f"{len(new)} answers compared, {len(wrong)} differ{missing}; {len(texts)} texts are others")
    return int(bool(wrong or gone))


if __name__ == "__main__":
    sys.exit(main())
