"""Number how many devices of each type have been used, as states of a dynamic programme."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mtpp_dsl.core.problem.graph import Ints
from mtpp_dsl.core.views.device_types import DeviceTypes

__all__ = ["DeviceStates", "mixed_radix", "states_of"]


class DeviceStates(NamedTuple):
    """All counts of used devices, numbered in mixed radix; componentwise smaller ones come first.

    Attributes:
        used: [states, types].
        stride: [types] what using one more device adds to the number of the state.
        left: [states, types] how many devices are left.
    """

    used: Ints
    stride: Ints
    left: Ints


def states_of(types: DeviceTypes) -> DeviceStates:
    """Return all states."""
    used, stride = mixed_radix(types.counts)
    return DeviceStates(used, stride, types.counts - used)


def mixed_radix(count: Ints) -> tuple[Ints, Ints]:
    """Return [states, types] all vectors from 0 to *count*, and [types] how much one more adds to the number."""
    stride = np.cumprod([1, *(count[:-1] + 1).tolist()]).astype(np.int64)
    number = np.arange(int(np.prod(count + 1)))
    return (number[:, None] // stride % (count + 1)).astype(np.int64), stride
