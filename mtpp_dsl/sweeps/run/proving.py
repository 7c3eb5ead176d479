"""Prove the bounds of results again, from the problems alone and the certificates that the answers have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError, VerificationError
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.sweeps.file.problem_files import problem_of
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
    todo = {key for key, _, proof in _bounds(store) if proof != PROVED}
    return [run for run in runs if run.key in todo]


def prove_bounds(runs: Sequence[Run], store: Store, seconds: float | None) -> Iterator[ProvedBound]:
    """Prove the bound of each run again, as ``mtpp verify`` does, and record in its row which were.

    Args:
        runs: that have a bound.
        store: where their rows and answers are.
        seconds: that each bound may take; None for any time.
    """
    bounds = {key: bound for key, bound, _ in _bounds(store)}
    for run in runs:
        proved = _proved(run, bounds[run.key], store.answer(run.key), seconds)
        if proved.proved and not store.set_proof(run.key, bounds[run.key], PROVED):
            proved = ProvedBound(run, proved=False, wrong=False, text="another process has repeated the run meanwhile")
        yield proved


def _bounds(store: Store) -> Iterator[tuple[str, float, str]]:
    """Yield the key, the bound and its proof of each row that has a bound."""
    columns = store.columns(["key", "bound", "proof"])
    for key, bound, proof in zip(columns["key"], columns["bound"], columns["proof"], strict=True):
        if bound is not None:
            yield key, bound, proof


def _proved(run: Run, bound: float, answer: str | None, seconds: float | None) -> ProvedBound:
    """Prove the bound of an answer again; it has to be that of the row, which tables show."""
    try:
        problem = problem_of(run)
        claim = None if answer is None else BoundClaim.of(problem, json.loads(answer))
        if claim is None:
            return ProvedBound(run, proved=False, wrong=False, text="its answer was not kept")
        if claim.value != bound:
            text = f"its row says that the bound is {bound!r}, and its answer {claim.value!r}"
            return ProvedBound(run, proved=False, wrong=True, text=text)
        finding = check_bound(problem, claim, Limits(time=seconds))
    except VerificationError as error:
        return ProvedBound(run, proved=False, wrong=True, text=str(error))
    except MtppError as error:  # the spec changed, the time did not suffice, or nothing checks bounds of this kind
        return ProvedBound(run, proved=False, wrong=False, text=str(error))
    return ProvedBound(run, finding.proved, wrong=False, text=finding.text)
