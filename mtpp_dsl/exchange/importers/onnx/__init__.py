"""ONNX models: from the file without its weights to operators with shapes and costs.

It imports data, the model and what importers share; the package onnx is imported in functions.
"""
