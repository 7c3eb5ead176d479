"""The configuration bound: what all devices can hold below a target, by column generation.

It imports the bounds by cuts, the matrix interface of HiGHS, algorithms and the runtime.
"""
