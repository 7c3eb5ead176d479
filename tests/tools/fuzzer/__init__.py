"""Random specs in the language's own text, held against an evaluator and a brute force of their own.

``python -m tests.tools.fuzzer FAMILY --count 3000 --seed 0``. Nothing here uses the project's evaluation, its
verification, its brute force, its models or its solvers: what a spec means is known from how it was made, and what a
plan costs from the definitions in docs/mathematics.md and docs/language.md.
"""
