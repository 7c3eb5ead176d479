"""From a problem to an answer that was checked: methods found and run, answers as JSON, what plug-ins must keep to.

It imports the core, exchange, language and checks, and reaches methods and solvers by the registry alone.
"""
