"""Read what a sweep file asks for: problems, methods and limits, multiplied into runs, each with its key.

It imports the core, language and solving.
"""
