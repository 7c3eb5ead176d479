"""The contracts of everything that can be plugged in, and the limits and the progress that methods are given.

They import problems and plans. The public names are here; what is behind each is in the modules of this folder.
"""

from mtpp_dsl.contracts.executors import Channel, Executor
from mtpp_dsl.contracts.limits import Limits
from mtpp_dsl.contracts.progress import Progress
from mtpp_dsl.contracts.protocols import (
    GIVES,
    Availability,
    Backend,
    Checker,
    Engine,
    Feature,
    Format,
    Formulation,
    FormulationFamily,
    Generator,
    Gives,
    Installed,
    Method,
    Outcome,
    Reduction,
    Role,
    Strengthened,
    as_read_by,
    refusal,
    why_not,
)
from mtpp_dsl.contracts.scopes import DECISIONS, EVERY, Scope, Scoped, outside
from mtpp_dsl.contracts.targets import Files, Split, Stamp, Target, UnsoundSplit, text_of
from mtpp_dsl.contracts.traits import (
    BackendBase,
    CutoffFormulation,
    FormulationBase,
    MethodBase,
    ModelTraits,
    backend_traits,
    formulation_traits,
    method_traits,
    model_traits,
)
from mtpp_dsl.problem.custom import CustomConstraint, Option, Statement

__all__ = [
    "DECISIONS",
    "EVERY",
    "GIVES",
    "Availability",
    "Backend",
    "BackendBase",
    "Channel",
    "Checker",
    "CustomConstraint",
    "CutoffFormulation",
    "Engine",
    "Executor",
    "Feature",
    "Files",
    "Format",
    "Formulation",
    "FormulationBase",
    "FormulationFamily",
    "Generator",
    "Gives",
    "Installed",
    "Limits",
    "Method",
    "MethodBase",
    "ModelTraits",
    "Option",
    "Outcome",
    "Progress",
    "Reduction",
    "Role",
    "Scope",
    "Scoped",
    "Split",
    "Stamp",
    "Statement",
    "Strengthened",
    "Target",
    "UnsoundSplit",
    "as_read_by",
    "backend_traits",
    "formulation_traits",
    "method_traits",
    "model_traits",
    "outside",
    "refusal",
    "text_of",
    "why_not",
]
