"""Plans from what a solver decided: it says where and in which order, and the times are worked out again.

This imports facts, problems and plans.
"""
