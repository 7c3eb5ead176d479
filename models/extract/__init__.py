"""Plans from what a solver decided: where and in which order; the times are worked out again.

It imports facts.
"""
