"""The language server: open texts and what they say; what editors ask of them is in ``features``.

It imports the language, the registry and what these stand on, and neither pygls nor lsprotocol: ``connection`` does.
"""
