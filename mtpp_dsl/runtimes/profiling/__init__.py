"""Measured times of operators: what ``mtpp profile`` runs or reads, one file for each way to come by times.

It imports the data, the model, importers and :mod:`mtpp_dsl.runtimes.execution`; torch, onnx and onnxruntime only where
needed.
"""
