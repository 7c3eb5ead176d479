"""A model that somebody brought, as data: operators, tensors and weights, whose sizes may speak of batch and seq.

Importers make a :class:`Model`; :mod:`mtpp_dsl.model.json` reads and writes it as ``model.json``. It imports the ground
floor (:mod:`mtpp_dsl.base`, :mod:`mtpp_dsl.errors`) and problems, and no framework.
"""

from mtpp_dsl.model.model import Amount, Model, Operator, Source, Symbol, Tensor, Weight
from mtpp_dsl.model.sizes import Size, value

__all__ = ["Amount", "Model", "Operator", "Size", "Source", "Symbol", "Tensor", "Weight", "value"]
