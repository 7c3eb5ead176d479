"""Weights of supernodes for the configuration bound to begin with."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.result import Certificate
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance


def known_weights(problem: Problem, groups: BoundInstance, certificate: Certificate | None) -> Floats:
    """Return [supernodes] the weights of a certificate of the bound, else the least work of each; together 1."""
    weights: Floats = groups.time.min(axis=1)
    if certificate is not None and certificate.kind == "configuration":
        names, known = problem.graph.names, certificate.data["weights"]
        weights = np.array([known.get(names[members[0]], 0) for members in groups.members], np.float64)
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(groups.n, 1 / groups.n)
