"""Graph generators behind ``graph from generator``.

A generator is a plain function whose parameters all have a default and an annotation ``int``,
``float``, ``str`` or ``bool`` (or one of them ``| None``: chosen by the generator), and which returns
a :class:`~mtpp_dsl.core.problem.graph.Graph`; equal parameters give equal graphs.
Generators import problems and the registry.
"""
