"""Does the prediction hold? Splits run by three runtimes on this machine, beside what mtpp predicts of them.

``python -m benchmarks.predictions --help``, from the repository; docs/predictions.md says what the figures are. Each
runtime is a module with a function ``compared``, which returns a
:class:`~benchmarks.predictions.figures.RuntimeComparison`.
"""
