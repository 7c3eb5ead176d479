"""Offer what editors need: the language server, and the files that set an editor up.

It imports the core, exchange and language.
"""
