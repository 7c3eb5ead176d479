"""From text to a syntax tree and back: the grammar's tables, the parser, the formatter, messages of malformed text.

It imports the core, and nothing of the language above it. The way in is :func:`mtpp_dsl.language.syntax.parser.parse`.
"""
