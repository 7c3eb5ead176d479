"""Prove the bounds of results again, from the problems alone and the certificates that the answers have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError, VerificationError
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.sweeps.file.problem_files import Changed, problem_of
from mtpp_dsl.sweeps.file.run import Run
from mtpp_dsl.sweeps.store.outcome import PROVED
from mtpp_dsl.sweeps.store.store import Store

__all__ = ["ProvedBound", "bounds_to_prove", "prove_bounds"]


class ProvedBound(NamedTuple):
    """What became of the bound of one run.

    Attributes:
        run: which.
        proved: whether it was proved again.
        wrong: whether it was refuted.
        text: a sentence about it.
    """

    run: Run
    proved: bool
    wrong: bool
    text: str


def bounds_to_prove(runs: Sequence[Run], store: Store) -> list[Run]:
    """Return the runs that have a bound which was not proved again before."""
    known = store.columns(["key", "bound", "proof"])
    todo = {
        key
        for key, bound, proof in zip(known["key"], known["bound"], known["proof"], strict=True)
        if bound is not None and proof != PROVED
    }
    return [run for run in runs if run.key in todo]


def prove_bounds(runs: Sequence[Run], store: Store, seconds: float | None) -> Iterator[ProvedBound]:
    """Prove the bound of each run again, as ``mtpp verify`` does, and record in its row which were.

    Args:
        runs: that have a bound.
        store: where their answers are.
        seconds: that each bound may take; None for any time.
    """
    for run in runs:
        proved = _proved(run, store, seconds)
        if proved.proved:
            store.set_proof(run.key, PROVED)
        yield proved


def _proved(run: Run, store: Store, seconds: float | None) -> ProvedBound:
    answer = store.answer(run.key)
    try:
        problem = problem_of(run)
        claim = None if answer is None else BoundClaim.of(problem, json.loads(answer))
        if claim is None:
            return ProvedBound(run, proved=False, wrong=False, text="its answer was not kept")
        finding = check_bound(problem, claim, Limits(time=seconds))
    except Changed as error:
        return ProvedBound(run, proved=False, wrong=False, text=str(error))
    except VerificationError as error:
        return ProvedBound(run, proved=False, wrong=True, text=str(error))
    except MtppError as error:  # the time did not suffice, or nothing checks bounds of this kind
        return ProvedBound(run, proved=False, wrong=False, text=str(error))
    return ProvedBound(run, finding.proved, wrong=False, text=finding.text)
