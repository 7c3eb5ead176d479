"""Name what goes wrong, with the exit code of each: the public names of :mod:`mtpp_dsl.core.errors`."""

from __future__ import annotations

from mtpp_dsl.core.errors import (
    ConstraintError,
    DeviceError,
    Ended,
    MtppError,
    OptionError,
    OverwriteError,
    PluginError,
    Refused,
    SolverError,
    SpecError,
    UsageError,
    VerificationError,
    did_you_mean,
    nearest,
)

__all__ = [
    "ConstraintError",
    "DeviceError",
    "Ended",
    "MtppError",
    "OptionError",
    "OverwriteError",
    "PluginError",
    "Refused",
    "SolverError",
    "SpecError",
    "UsageError",
    "VerificationError",
    "did_you_mean",
    "nearest",
]
