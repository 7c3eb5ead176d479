"""Make what people see of an answer: text, pages, pictures, notebooks, and why it is as it is.

It imports the core, language, checks and solving.
"""
