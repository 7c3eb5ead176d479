"""All codes, by area and by themselves."""

from __future__ import annotations

from mtpp_dsl.core.text.codes.code import Code
from mtpp_dsl.core.text.codes.files import FILES, LIMITS
from mtpp_dsl.core.text.codes.problems import DEVICES, GRAPHS, OBJECTIVES, RULES
from mtpp_dsl.core.text.codes.syntax import NAMES, SYNTAX, VALUES

AREAS: dict[str, tuple[Code, ...]] = {
    "Syntax": SYNTAX,
    "Names": NAMES,
    "Values and units": VALUES,
    "Graphs": GRAPHS,
    "Devices, interconnects and times": DEVICES,
    "Constraints": RULES,
    "Objectives": OBJECTIVES,
    "Params and files": FILES,
    "Limits": LIMITS,
}
"""The codes of each area, in the order of docs/errors.md."""

CODES: dict[str, Code] = {code.code: code for codes in AREAS.values() for code in codes}
"""Every code by its name."""
