"""Problems made in Python, statement by statement, and the text that says the same.

It imports what reads specs (:mod:`mtpp_dsl.language`), :mod:`mtpp_dsl.formats` and data.
"""

from mtpp_dsl.builder.builder import Builder
from mtpp_dsl.formats.networkx_graphs import graph_from_networkx

__all__ = ["Builder", "graph_from_networkx"]
