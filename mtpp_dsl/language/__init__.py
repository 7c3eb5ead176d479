"""The language: text to syntax tree to problem."""
