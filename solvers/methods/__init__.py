"""The methods that users call by name, and the only place that puts families together.

Methods may import every other room; what searches is imported when a method is used.
"""
