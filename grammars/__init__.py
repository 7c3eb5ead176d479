"""The grammar of the language, as package data; installed as ``mtpp_dsl.grammars``."""

if __name__ == "grammars":  # a second copy of every class and registry would follow
    raise ImportError("import mtpp_dsl.grammars, not grammars (is the repository root on sys.path?)")
