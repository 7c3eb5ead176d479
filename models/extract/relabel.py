"""A plan of interchangeable devices, renamed into the one that a model's symmetry breaking keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtpp_dsl.core.problem.graph import Ints


def canonical(assignment: Ints, rank: Sequence[int], classes: Sequence[tuple[int, ...]]) -> Ints:
    """Return *assignment* with the members of each class renamed so that *rank* rises along the class.

    Args:
        assignment: [n] devices.
        rank: [devices] what to sort each class by.
        classes: interchangeable devices, each class in declared order.
    """
    name = np.arange(len(rank))
    for members in classes:
        name[sorted(members, key=lambda d: rank[d])] = members
    renamed: Ints = name[assignment]
    return renamed
