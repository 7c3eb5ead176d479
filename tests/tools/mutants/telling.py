"""Record small problems that tell a fault from the code as it is: ``python -m tests.tools.mutants.telling``.

Faults in functions that no test noticed, of ``build/mutants``, are put into this process one after the other while
problems are drawn. What a checker proves by a certificate, what is said of a plan, and what counting and brute force
say of a problem is recorded where it differs with such a fault. No more may be proved than brute force allows. The
records stand beside those of ``tests.tools.certificates`` and ``tests.tools.recorded_plans``, and are read by the same
tests. ``--again`` evaluates the records anew, for a checker that was made stronger on purpose: read the difference.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import inf, nextafter
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any
from unittest.mock import patch

import mtpp_dsl
from mtpp_dsl.checks.brute_force import plans
from mtpp_dsl.core.base.compiling import Kernel
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.problem import Problem
from tests.checks import test_recorded_plans
from tests.solvers.proofs import test_recorded
from tests.tools import certificates, recorded_plans
from tests.tools.metamorphic.families import FAMILIES, make
from tests.tools.mutants.__main__ import LIST, sample
from tests.tools.mutants.changes import Mutant, mutants
from tests.tools.mutants.covering import last_line
from tests.tools.mutants.running import KILLED, TIMED_OUT, changed_functions, functions_by_file
from tests.tools.mutants.verdicts import Verdicts
from tests.tree import ROOT

VERDICTS = ROOT / "build" / "mutants" / "verdicts.jsonl"
TOLD = ROOT / "build" / "mutants" / "told.jsonl"
"""What this tool says of faults; that tests notice them is for ``tests.tools.mutants`` to say."""
PATIENCE = 1.0
"""Seconds of processor time that a case may take with a fault, beside ten times what it takes without."""
TRIES = 60
"""Cases that a fault is tried on: of those that are recorded, and again of those that are drawn."""
TOO_LONG = "takes too long"
KINDS = [*certificates.SOURCES]
SMALL = 300
"""Ways to place the nodes of a random spec, at most."""

Lines = set[tuple[str, int]]
Draw = Iterator[tuple[dict[str, Any], Any]]
"""Records without cases, each with the datum of one case of it."""


@dataclass(frozen=True)
class Sort:
    """One sort of records.

    Attributes:
        path: where they are.
        records: what is recorded.
        draw: yields what a case may be about: a record without cases, and the datum of one.
        judge: says of a record and a datum what is recorded.
    """

    path: Path
    records: Sequence[Mapping[str, Any]]
    draw: Callable[[int], Draw]
    judge: Callable[[Mapping[str, Any], Any], Any]


def main() -> int:
    """Record cases for faults that no test noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.mutants.telling", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each sort of records")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")
    parser.add_argument("--only", default="", help="part of the path of the files with faults")
    parser.add_argument("--sorts", nargs="*", default=[*SORTS], choices=[*SORTS])
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS, help="of certificates")
    parser.add_argument("--again", action="store_true", help="evaluate the records that are there anew")
    parser.add_argument("--drawn", action="store_true", help="leave out to try the faults on the records first")
    parser.add_argument("--sample", type=int, help="of all faults, tried or not, those of a sample of this seed")
    parser.add_argument("--count", type=int, default=100, help="how many faults the sample has")
    asked = parser.parse_args()
    if asked.again:
        for name in asked.sorts:
            again(SORTS[name])
        return 0
    VERDICTS.parent.mkdir(parents=True, exist_ok=True)
    verdicts, told = Verdicts(VERDICTS), Verdicts(TOLD)
    faults = Faults([mutant for mutant in unnoticed(asked, verdicts) if told.of(mutant) is None], told)
    for name in asked.sorts if not asked.drawn else ():
        present(SORTS[name], faults)
    KINDS[:] = asked.kinds
    for name in asked.sorts:
        record(SORTS[name], faults, asked.seconds, asked.seed)
    for mutant in faults.alive:
        print(f"{mutant.path}:{mutant.line}  {mutant.name}  {'was run' if mutant in faults.reached else 'not run'}")
    return 0


def unnoticed(asked: argparse.Namespace, verdicts: Verdicts) -> list[Mutant]:
    """Return the faults in functions that were not noticed: those that were tried, or all of a sample."""
    sampled = asked.sample is not None
    every = sample(asked.sample, asked.count, "") if sampled else mutants(asked.only)
    known = tomllib.loads(LIST.read_text(encoding="utf-8"))
    inside = [m for m in every if asked.only in m.path and not m.at_import and m.name not in known]
    noticed = (KILLED, TIMED_OUT) if sampled else (KILLED, TIMED_OUT, None)
    return [mutant for mutant in inside if verdicts.of(mutant) not in noticed]


class TooLongError(BaseException):
    """A case takes too long with a fault; nothing that is tested catches this."""


class Faults:
    """Faults that no case tells yet, in functions of this process."""

    def __init__(self, wanted: Sequence[Mutant], verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        paths = {mutant.path for mutant in wanted}
        functions = functions_by_file(paths)
        trees = {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in paths}
        self.alive = list(wanted)
        self.reached: set[Mutant] = set()
        self._tries: Counter[Mutant] = Counter()
        self._functions = functions
        self._changes: dict[Mutant, list[tuple[FunctionType, CodeType]]] = {}
        self._lines = {m: {*range(m.line, last_line(trees[m.path], m.line) + 1)} for m in wanted}
        self.files = {str(ROOT / path) for path in paths}

    def try_again(self) -> None:
        """Let faults be tried on so many cases once more."""
        self._tries.clear()

    def tell(self, sort: Sort, head: Mapping[str, Any], datum: Any) -> tuple[Any, list[Mutant]]:
        """Return what is said of a case, and the faults with which something else is said: they live no longer."""
        lines: Lines = set()
        began = time.process_time()
        with tracing(self.files, lines):
            wanted = judged(sort, head, datum)
        patience = PATIENCE + 10 * (time.process_time() - began)
        told_apart = []
        for mutant in self._run_by(lines):
            result = with_fault(sort, self, mutant, head, datum, patience)
            if not same(result, wanted):
                told_apart.append(mutant)
                self.verdicts.keep(mutant, TIMED_OUT if result == TOO_LONG else KILLED)
        self.alive = [mutant for mutant in self.alive if mutant not in told_apart]
        return wanted, told_apart

    def _run_by(self, lines: Lines) -> list[Mutant]:
        """Return the faults in lines that have been run."""
        of_file: dict[str, set[int]] = defaultdict(set)
        for path, line in lines:
            of_file[path].add(line)
        ran = [m for m in self.alive if self._lines[m] & of_file[str(ROOT / m.path)]]
        self.reached.update(ran)
        chosen = [mutant for mutant in ran if self._tries[mutant] < TRIES]
        self._tries.update(chosen)
        return chosen

    @contextmanager
    def put_in(self, mutant: Mutant) -> Iterator[None]:
        """Change the functions of a fault for a while."""
        if mutant not in self._changes:
            self._changes[mutant] = changed_functions(mutant, self._functions[mutant.path])
        before = [(function, function.__code__) for function, _ in self._changes[mutant]]
        for function, code in self._changes[mutant]:
            function.__code__ = code
        try:
            yield
        finally:
            for function, code in before:
                function.__code__ = code


def present(sort: Sort, faults: Faults) -> None:
    """Take away the faults that the records which are there tell."""
    for head in sort.records:
        for datum, _ in head["cases"]:
            faults.tell(sort, head, datum)
    faults.try_again()
    print(f"{sort.path.name}: {len(faults.alive)} faults are left by what is recorded", flush=True)


def record(sort: Sort, faults: Faults, seconds: float, seed: int) -> None:
    """Draw problems of one sort and write those down that tell a fault."""
    end = time.process_time() + seconds
    by_file: Counter[str] = Counter()
    while time.process_time() < end and faults.alive:
        seed += 1
        records: dict[str, dict[str, Any]] = {}
        for head, datum in sort.draw(seed):
            if time.process_time() > end:
                break
            wanted, told_apart = faults.tell(sort, head, datum)
            if told_apart:
                by_file.update(mutant.path for mutant in told_apart)
                key = json.dumps(head, sort_keys=True)
                records.setdefault(key, {**head, "cases": []})["cases"].append([datum, wanted])
        with sort.path.open("a", encoding="utf-8") as file:
            for one in records.values():
                file.write(json.dumps(completed(one), sort_keys=True) + "\n")
    print(f"{sort.path.name}: the last seed was {seed}; {dict(by_file)}", flush=True)


def with_fault(sort: Sort, faults: Faults, mutant: Mutant, head: Mapping[str, Any], datum: Any, patience: float) -> Any:
    """Return what is said of a case with a fault put in; an error, or that it took too long, as a text."""

    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        with faults.put_in(mutant):
            return judged(sort, head, datum)
    except TooLongError:
        return TOO_LONG
    except Exception as error:
        return f"raises {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def judged(sort: Sort, head: Mapping[str, Any], datum: Any) -> Any:
    """Return what is said of a case, by kernels as they stand: compiled ones would not have the fault."""
    with patch.object(Kernel, "compiled", lambda kernel, say=None: kernel.plain):
        return sort.judge(head, datum)


def completed(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of a certificate with the optimum, which nothing proved may be above."""
    if "kind" not in record:
        return record
    best = certificates.optimum(mtpp_dsl.load(record["spec"]))
    limit = inf if best is None else best * (1 + 1e-9)
    assert all(value <= limit for _, value in record["cases"]), record
    return {**record, "optimum": best}


def again(sort: Sort) -> None:
    """Evaluate records anew."""
    records = [json.loads(line) for line in sort.path.read_text(encoding="utf-8").splitlines()]
    for one in records:
        one["cases"] = [[datum, sort.judge(one, datum)] for datum, _ in one["cases"]]
    lines = [json.dumps(completed(one), sort_keys=True) + "\n" for one in records]
    sort.path.write_text("".join(lines), encoding="utf-8")


@contextmanager
def tracing(files: set[str], lines: Lines) -> Iterator[None]:
    """Add the lines of these files that are run to *lines*."""

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, numbers in them nearly so."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=0.0) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def random_spec(seed: int) -> str | None:
    """Return a small random spec of one of the families, or None where it is none that can be tried by brute force."""
    family = [*FAMILIES][seed % len(FAMILIES)]
    text = make(family, seed, 4).text
    try:
        problem = mtpp_dsl.load(text)
    except MtppError:
        return None
    return text if problem.k**problem.graph.n <= SMALL else None


def drawn_certificates(seed: int) -> Draw:
    """Yield certificates, as methods give them and with something changed."""
    kind = KINDS[seed % len(KINDS)]
    methods, sources = certificates.SOURCES[kind]
    turn = seed // len(KINDS)
    try:
        if turn % 3:
            spec = sources[turn % len(sources)](turn).to_spec()
        elif (spec := random_spec(turn // 3)) is None:
            return
        problem = mtpp_dsl.load(spec)
        least = certificates.optimum(problem) if not methods else None
    except MtppError:
        return
    head = {"kind": kind, "spec": spec}
    rng = random.Random(seed)
    for data in certificates.certificates_of(kind, methods, problem, least):
        yield from ((head, {**data, "target": target}) for target in thresholds(kind, problem, data))
        for changed in certificates.variants(kind, problem, data, rng):
            yield head, changed


def thresholds(kind: str, problem: Problem, data: Mapping[str, Any]) -> list[float]:
    """Return the largest target that is proved and the next number, where a certificate has a target."""
    if "target" not in data:
        return []
    more = [0.0, float(data["target"]) / certificates.BELOW]
    low, high = 0.0, 4.0 * float(data["target"])
    while nextafter(low, inf) < high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if certificates.proves(kind, problem, {**data, "target": middle}) else (low, middle)
        if low == 0.0 and high < 1e-12 * float(data["target"]):
            return more
    return [low, high, *more]


def drawn_plans(seed: int) -> Draw:
    """Yield plans of brute force, and the same with something changed."""
    spec = drawn_spec(seed)
    if spec is None:
        return
    rng = random.Random(seed)
    try:
        problem = mtpp_dsl.load(spec)
        drawn = [plan.to_json(problem) for plan in islice(plans(problem), recorded_plans.DRAWN)]
    except MtppError:
        return
    for plan in rng.sample(drawn, min(2, len(drawn))):
        for changed in recorded_plans.variants(plan, rng):
            yield {"of": "fault", "spec": spec}, changed


def drawn_problems(seed: int) -> Draw:
    """Yield problems, for what counting and brute force say of them."""
    spec = drawn_spec(seed)
    if spec is not None:
        yield {"of": "counted", "spec": spec}, None


def drawn_spec(seed: int) -> str | None:
    """Return a small random spec, or None."""
    sources = [*recorded_plans.SOURCES.values()]
    if seed % 3 == 0:
        return random_spec(seed // 3)
    try:
        return sources[seed % len(sources)](seed).to_spec()
    except MtppError:
        return None


SORTS = {
    "certificates": Sort(
        test_recorded.FOR_FAULTS,
        test_recorded.RECORDS,
        drawn_certificates,
        lambda head, datum: test_recorded.proves(head["kind"], test_recorded.problem_of(head["spec"]), datum),
    ),
    "plans": Sort(
        test_recorded_plans.FOR_FAULTS,
        test_recorded_plans.RECORDS,
        drawn_plans,
        lambda head, datum: test_recorded_plans.judged(mtpp_dsl.load(head["spec"]), datum),
    ),
    "problems": Sort(
        test_recorded_plans.COUNTED,
        test_recorded_plans.PROBLEMS,
        drawn_problems,
        lambda head, datum: test_recorded_plans.counted(mtpp_dsl.load(head["spec"])),
    ),
}
"""Certificates with what they prove, plans with what is said of them, and problems with what is counted."""


if __name__ == "__main__":
    sys.exit(main())
