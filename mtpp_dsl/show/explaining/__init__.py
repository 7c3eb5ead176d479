"""Questions about an answer: what holds its cost where it is, what else there is, and how two answers differ.

Each kind of answer is a module with a data class that has ``to_json()`` and ``words()``. It imports data, answers,
checks, contracts, the language, reports and what solves (``api``, ``drivers``); it knows no method.
"""
