"""Read the weights of supernodes from a certificate of the configuration bound."""

from __future__ import annotations

import numpy as np

from mtpp_dsl.core.plans.result import Certificate
from mtpp_dsl.core.problem.graph import Floats
from mtpp_dsl.core.problem.problem import Problem
from mtpp_dsl.solvers.bounds.partition.bound_instance import BoundInstance


def known_weights(problem: Problem, groups: BoundInstance, certificate: Certificate | None) -> Floats:
    """Return [supernodes] the weights that prove a bound, of which all devices hold 1; zeros without such a proof."""
    if certificate is None or certificate.kind != "configuration":
        return np.zeros(groups.n)
    names, known = problem.graph.names, certificate.data["weights"]
    most = max(sum(certificate.data["most"].values()), 1)
    return np.array([known.get(names[members[0]], 0) / most for members in groups.members], np.float64)
