"""File formats of graphs, and reading a file in one of them.

A format is a class with ``name``, ``suffixes`` and ``read`` (:class:`mtpp_dsl.core.contracts.protocols.Format`), found
through the registry; one that holds a model derives from :class:`mtpp_dsl.exchange.formats.models.ModelFormat`. Formats
import problems, models, contracts and the registry.
"""
