"""Write what proves a bound again into a file of its own."""

from __future__ import annotations

import json
from pathlib import Path

from mtpp_dsl.core import registry
from mtpp_dsl.core.base.writing import write_text
from mtpp_dsl.core.contracts.limits import Limits
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.core.problem.counting import recognised
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solving.answers.certifying import leaves_for
from mtpp_dsl.solving.answers.proofs import SECONDS, BoundClaim, ProofFinding

__all__ = ["check_proof_file", "write_proof"]

SUFFIXES = (".json", ".vipr")


def check_proof_file(path: Path) -> None:
    """Refuse a file for a proof whose name says no format.

    Raises:
        UsageError: with the formats that there are.
    """
    if path.suffix not in SUFFIXES:
        raise UsageError(f"--export-proof {path}: a proof is written as {' or '.join(SUFFIXES)}")


def write_proof(problem: Problem, claim: BoundClaim | None, finding: ProofFinding, path: Path, limits: Limits) -> None:
    """Write the certificate that proves a bound: as JSON, or one of boxes in the format VIPR, searched where need be.

    Raises:
        UsageError: there is none, or none that this format can hold.
    """
    certificate = finding.certificate
    if path.suffix == ".json" and certificate is not None:
        write_text(path, json.dumps(certificate, indent=2) + "\n")
        return
    if claim is not None and (certificate is None or certificate["kind"] != "leaves"):
        leaves = leaves_for(problem, claim.cost, Limits(time=min(SECONDS, limits.remaining)))
        certificate = None if leaves is None else leaves.to_json()
    if certificate is None:
        wanted = "certificate" if path.suffix == ".json" else "certificate 'leaves', which the format VIPR is for,"
        raise UsageError(f"no proof was written to {path}: no {wanted} is known of the bound, or was found in time")
    if path.suffix == ".json":
        write_text(path, json.dumps(certificate, indent=2) + "\n")
        return
    asked = recognised(problem.in_one_phase or problem).problem
    lines = registry.built_in("mtpp_dsl.solvers.proofs.vipr:vipr_lines")(asked, certificate)
    write_text(path, "\n".join(lines) + "\n")
