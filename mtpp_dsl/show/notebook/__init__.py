"""Notebooks: results that show themselves as HTML and SVG, and the magics ``%%mtpp`` and ``%mtpp``.

It imports the library's interface, pages and reports; IPython is imported by the magics alone.
"""
