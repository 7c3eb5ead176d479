"""Lower bounds that need no plan: on bottlenecks, on makespans on links, and by modules.

Bounds import back ends, algorithms and the runtime, and no search.
"""
