"""When nodes can start and have to end in a schedule on links, narrowed by a makespan to refute.

It imports the runtime and views.
"""
