"""The words of the language: what each means, where it may stand, what colour it has, how names are written.

It imports the core, exchange and the rest of the language.
"""
