"""When nodes can start and have to end in a schedule on links, narrowed by a makespan to refute.

Also the bounds that follow at once, by the longest path and by shares of the work: searches end when they reach them.
Modules between cut nodes, equal ones once, are here as windows see them. It imports the runtime, views and cut nodes.
"""
