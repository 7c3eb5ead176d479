"""A model that somebody brought, as data: operators, tensors and weights, whose sizes may speak of batch and seq.

Importers make a :class:`Model`; :mod:`mtpp_dsl.exchange.model.model_json` reads and writes it as ``model.json``. It
imports the ground floor (:mod:`mtpp_dsl.core.base`, :mod:`mtpp_dsl.errors`) and problems, and no framework.
"""
