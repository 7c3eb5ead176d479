"""Prove the bounds of a library's records again that have no certificate, and keep what proves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isinf

from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import MtppError, VerificationError
from mtpp_dsl.solving.answers.claims import cost_of_value
from mtpp_dsl.solving.answers.proofs import BoundClaim, ProofFinding, check_bound
from mtpp_dsl.sweeps.library import files
from mtpp_dsl.sweeps.library.collection import Library, current
from mtpp_dsl.sweeps.library.record import BestKnown
from mtpp_dsl.sweeps.library.store import RecordChange

__all__ = ["ProvedRecord", "prove_records", "records_to_prove"]


@dataclass(frozen=True)
class ProvedRecord:
    """What became of the bound of a record.

    Attributes:
        name: of the problem.
        proved: whether there is a certificate of it now.
        wrong: whether the bound is refuted.
        text: a sentence for the reader.
    """

    name: str
    proved: bool
    wrong: bool
    text: str


def records_to_prove(library: Library, names: Sequence[str]) -> list[BestKnown]:
    """Return the records of these problems whose bound has no certificate."""
    known = library.records.read()
    records = (known[name] for name in names if name in known)
    return [one for one in records if one.bound is not None and not isinf(one.bound) and one.proof != "certificate"]


def prove_records(library: Library, records: Sequence[BestKnown], seconds: float | None) -> Iterator[ProvedRecord]:
    """Prove bounds again as ``mtpp verify`` does, each within *seconds*, and write down the certificates."""
    for record in records:
        try:
            if not current(library, record):
                yield ProvedRecord(record.name, False, False, "the problem has changed since")
                continue
            finding = _proved(library, record, seconds)
            if finding.proved and finding.certificate is not None:
                library.records.take(record.name, partial(_certified, library, record, finding))
            yield ProvedRecord(record.name, finding.proved, False, finding.text)
        except VerificationError as error:
            yield ProvedRecord(record.name, False, True, str(error))
        except MtppError as error:  # the time did not suffice, or a file is not here
            yield ProvedRecord(record.name, False, False, str(error))


def _proved(library: Library, record: BestKnown, seconds: float | None) -> ProofFinding:
    """Prove the bound of a record."""
    problem = library.problem(record.name)
    assert record.bound is not None
    method = record.bound_by.partition(",")[0]
    cost = cost_of_value(problem.objective, record.bound)
    claim = BoundClaim(record.bound, cost, method, None, library.plan(problem, record.name))
    return check_bound(problem, claim, Limits(time=seconds))


def _certified(library: Library, before: BestKnown, finding: ProofFinding, now: BestKnown) -> RecordChange:
    """Return the record with what proves its bound, unless another process has changed the bound since."""
    if (now.bound, now.proof) != (before.bound, before.proof) or finding.certificate is None:
        return RecordChange(now, now)
    text = files.text_of(finding.certificate)
    bound = now.bound
    if finding.cost is not None:
        bound = library.problem(now.name).objective.value(finding.cost)
    by = now.bound_by.partition(", on the word of")[0]
    after = replace(now, bound=bound, bound_by=by, proof="certificate", certificate_sha256=files.sha256_of(text))
    return RecordChange(now, after, None, text)
