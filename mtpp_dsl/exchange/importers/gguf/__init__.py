"""GGUF files of llama.cpp: from the header and the table of tensors to operators layer by layer.

It imports data, the model and what importers share.
"""
