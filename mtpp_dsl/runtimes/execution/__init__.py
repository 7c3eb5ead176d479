"""Execution of plans on this machine: stages, torch modules and ONNX files made of them, and their times.

It imports data, models and importers, and nothing of the language or of solvers; torch, onnx and onnxruntime only where
a function needs them. :mod:`mtpp_dsl.runtimes.execution.stage_file` needs torch alone: what is exported holds a copy of
it.
"""
