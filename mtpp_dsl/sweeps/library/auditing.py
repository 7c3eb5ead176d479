"""Auditing a library: every stored plan is checked again, and every bound proved again that has a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

import numpy as np

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.proofs import BoundClaim, check_bound
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.collection import Library, certificate_of, current
from mtpp_dsl.sweeps.library.judging import graph_sha256, value_of
from mtpp_dsl.sweeps.library.record import BestKnown

CLOSE = 1e-9
"""Relative: figures are those of the same plan, counted by the same code, perhaps on another platform."""


def audit(library: Library, record: BestKnown, *, proof: bool = True) -> Iterator[str]:
    """Yield what is wrong with a record and what is stored for it.

    Args:
        library: that it is of.
        record: of a problem that can be read here.
        proof: whether the bound is proved again where it has a certificate, which may take its time.
    """
    if not current(library, record):
        yield "the problem has changed since: its spec, or a file that this reads, is another"
        return
    if record.value is not None and record.bound is not None and record.crossed(record.value, record.bound, share=0.0):
        yield f"the bound {record.bound!r} says that there is no plan of {record.value!r}"
    try:
        problem = library.problem(record.name)
        if graph_sha256(problem) != record.graph_sha256:
            yield "the graph is another than when it was recorded: a generator has changed, or works differently here"
            return
        yield from _wrong_plan(library, problem, record)
        if proof:
            yield from _wrong_proof(library, problem, record)
    except MtppError as error:
        yield str(error)


def _wrong_plan(library: Library, problem: Problem, record: BestKnown) -> Iterator[str]:
    text = library.records.plan(record.name)
    if text is None:
        return
    if files.sha256_of(text) != record.plan_sha256:
        yield "the stored plan is not the one on record: their hashes differ"
        return
    plan = library.plan(problem, record.name)
    assert plan is not None
    value, later, _ = value_of(problem, plan)
    recorded = [float(part) for part in record.later.split(";") if part]
    if record.value is None or not isclose(value, record.value, rel_tol=CLOSE):
        yield f"the stored plan has {value!r}, and the record says {record.value!r}"
    if len(later) != len(recorded) or not np.allclose(later, recorded, rtol=CLOSE, atol=0.0):
        yield f"the further objectives of the stored plan have {later!r}, and the record says {recorded!r}"


def _wrong_proof(library: Library, problem: Problem, record: BestKnown) -> Iterator[str]:
    text = library.records.certificate(record.name)
    if record.proof == "certificate" and text is not None and files.sha256_of(text) != record.certificate_sha256:
        yield "the stored certificate is not the one on record: their hashes differ"
    elif record.proof == "certificate" and not proved_again(library, problem, record):
        yield f"the certificate does not prove the bound {record.bound!r}"


def proved_again(library: Library, problem: Problem, record: BestKnown, seconds: float | None = None) -> bool:
    """Return whether the bound of a record is proved by its stored certificate.

    Raises:
        VerificationError: the certificate does not prove the bound.
        UsageError: the certificate is of a kind that cannot be checked here, or the time did not suffice.
    """
    certificate = certificate_of(library, record)
    if certificate is None or record.bound is None:
        return False
    claim = BoundClaim.of(
        problem, {"bound": {"value": record.bound, "method": record.bound_by, "certificate": certificate}}
    )
    return claim is not None and check_bound(problem, claim, Limits(time=seconds)).proved
