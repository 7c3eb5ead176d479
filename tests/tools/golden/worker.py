"""Answer problems read from standard input, one JSON object a line, and say what came of each, one line an answer.

A program of its own, which imports the public names of ``mtpp_dsl`` alone: so it can be run by the interpreter of any
checkout, whatever its modules are called. What solvers print goes nowhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from typing import Any

SEED = 1


def main() -> None:
    """Answer line after line, until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    warnings.simplefilter("ignore")
    import mtpp_dsl

    assert mtpp_dsl.solve  # imported now: what that takes is not the first answer's

    for line in sys.stdin:
        task = json.loads(line)
        if "text" not in task:
            print(json.dumps(methods()), file=answers, flush=True)
            continue
        began = time.monotonic()
        found = answer(task)
        found["seconds"] = round(time.monotonic() - began, 2)
        print(json.dumps(found), file=answers, flush=True)


def methods() -> list[str]:
    """Return the names of all methods and formulations, and of some formulations with other solvers."""
    from mtpp_dsl.core import registry

    names = [*registry.available(registry.METHODS), *registry.available(registry.FORMULATIONS)]
    backends = {name: registry.load(registry.BACKENDS, name)() for name in ("cbc", "glpk", "scip")}
    others = [f"exact+{name}" for name, backend in backends.items() if backend.available().ok]
    return [*names, *others, "moirai+cp-sat", "batched+cp-sat"]


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """Solve one problem by one method, and return what can be compared."""
    import mtpp_dsl
    from mtpp_dsl.core.errors import MtppError, Refused

    try:
        problem = mtpp_dsl.load(task["text"])
        return solved(problem, task)
    except Refused as error:
        return {"kind": "refused", "text": str(error)}
    except MtppError as error:
        return {"kind": "error", "error": type(error).__name__, "text": str(error)}
    except Exception as error:
        return {"kind": "crashed", "error": type(error).__name__, "text": str(error)}


def solved(problem: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Solve a problem; one thread, unless the method has no use for the option."""
    import mtpp_dsl
    from mtpp_dsl.core import registry
    from mtpp_dsl.core.errors import UsageError

    method, _, solver = task["method"].partition("+")
    if task["options"]:
        method = registry.load(registry.METHODS, method)(**task["options"])
    call: dict[str, Any] = {"time_limit": task["limit"], "seed": SEED, **({"solver": solver} if solver else {})}
    if task["method"] == "expert":
        call["start"] = mtpp_dsl.solve(problem, "single-device", time_limit=task["limit"]).plan
    try:
        result = mtpp_dsl.solve(problem, method, threads=1, **call)
    except UsageError:  # also of methods that have no use for the option
        result = mtpp_dsl.solve(problem, method, **call)
    return described(problem, result)


def described(problem: Any, result: Any) -> dict[str, Any]:
    """Return what a result says: numbers in hexadecimal, so bit for bit, and hashes of what is large."""
    bound, why = result.bound, result.infeasibility
    certificate = None if bound is None else bound.certificate
    if certificate is not None and certificate.kind == "leaves":
        certificate = None  # whether there is one depends on the clock
    return {
        "kind": "solved",
        "status": result.status,
        "termination": result.termination,
        "method": result.method,
        "cost": None if result.cost is None else float(result.cost).hex(),
        "plan": None if result.plan is None else digest(_recorded(result.plan.to_json(problem))),
        "bound": None if bound is None else float(bound.cost).hex(),
        "bound method": None if bound is None else bound.method,
        "proof": None if bound is None else bound.proof,
        "certificate": None if certificate is None else digest(certificate.to_json()),
        "clash": None if why is None else digest([len(why.clash), why.minimal]),
        "text": "" if why is None else why.reason,
    }


def _recorded(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as it is recorded: without its stages, which follow from the rest."""
    return {name: value for name, value in plan.items() if name != "stages"}


def digest(data: Any) -> str:
    """Return a short hash of JSON values; floats count bit for bit."""
    text = json.dumps(data, sort_keys=True, default=float)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    main()
