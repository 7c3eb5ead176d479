"""The grammar of the language, as package data; installed as ``mtpp_dsl.grammars``.

Grammars are text: there is no code here, and nothing is imported.
"""

if __name__ == "grammars":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.grammars, not grammars (is the repository root on sys.path?)")
