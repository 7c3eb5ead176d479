"""Importers: models of frameworks and model files as :class:`mtpp_dsl.exchange.model.model.Model`.

One module or package for each source. They import data and the model; frameworks are imported where they are used.
"""
