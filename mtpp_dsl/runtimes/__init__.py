"""From a plan to a runtime: files for other people's runtimes, stages run here, and operators measured.

It imports the core and exchange.
"""
