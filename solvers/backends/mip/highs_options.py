"""Set options of HiGHS from values or from the text of a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mtpp_dsl.core.errors import UsageError, did_you_mean
from mtpp_dsl.solvers.backends.mip.lazy_highs import highspy

__all__ = ["set_options"]


def set_options(highs: Any, options: Mapping[str, Any]) -> None:
    """Set options, given as values or as the text of a command line.

    Raises:
        UsageError: an option HiGHS does not have, or a value it refuses.
    """
    for name, given in options.items():
        status, kind = highs.getOptionType(name)
        if status != highspy.HighsStatus.kOk:
            known = [word for word in dir(highspy.HighsOptions) if not word.startswith("_")]
            raise UsageError(f"HiGHS has no option {name!r}{did_you_mean(name, known)}")
        value = _typed(name, given, kind)
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise UsageError(f"HiGHS refuses {given!r} for option {name!r}")


def _typed(name: str, given: Any, kind: Any) -> Any:
    kinds = highspy.HighsOptionType
    try:
        if kind == kinds.kBool:
            words = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}
            return words[str(given).lower()]
        if kind == kinds.kInt:
            return int(given)
        return float(given) if kind == kinds.kDouble else str(given)
    except (KeyError, ValueError):
        what = {kinds.kBool: "true or false", kinds.kInt: "a whole number", kinds.kDouble: "a number"}[kind]
        raise UsageError(f"HiGHS option {name!r} takes {what}, not {given!r}") from None
