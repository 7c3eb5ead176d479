"""The state of a schedule that searches change: what can move, and when everything happens then.

It imports algorithms and the runtime.
"""
