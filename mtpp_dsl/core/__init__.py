"""Hold what all else stands on: problems, plans and constraints as data; units, messages, contracts, the registry.

It imports nothing of the other rooms: what data offers for convenience, such as ``result.show()``, is found by name.
"""
