"""When nodes can start and have to end in a schedule on links, narrowed by a makespan to refute.

Also the bounds that follow at once, by the longest path and by shares of the work: searches end when they reach them.
It imports the runtime and views.
"""
