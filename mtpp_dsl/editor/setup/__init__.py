"""Write what editors know of the language: colours of its words, and settings that start ``mtpp lsp``.

The words come from the grammar and the tables of the language (``vocabulary``), patterns for them from ``patterns``.
``python -m tests.tools.highlighting`` writes ``files/mtpp.tmLanguage.json`` and ``files/words.json`` from both.
The package imports data and the language.
"""
