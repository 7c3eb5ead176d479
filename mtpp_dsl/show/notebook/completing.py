"""Completion of the options of the magics, and of the names that some of them take."""

from __future__ import annotations

from mtpp_dsl.core.registry import BACKENDS, ENGINES, TARGETS, available
from mtpp_dsl.show.notebook.arguments import METHODS, parser
from mtpp_dsl.solving.api import method_names

__all__ = ["completed"]


def completed(line: str, word: str) -> list[str]:
    """Return what may stand at the end of the line of a magic, where *word* has been typed of it.

    >>> completed("%%mtpp --method brk", "brk"), completed("%%mtpp --time", "--time")
    (['brkga'], ['--time-limit'])
    """
    words = line.split()
    before = words[-1] if word == "" else words[-2] if len(words) > 1 else ""
    name = words[0] if words else "%%mtpp"
    if before == "--method":
        known = list(method_names())
    elif before == "--solver":
        known = [*available(BACKENDS), *available(ENGINES)]
    elif before == "--for":
        known = list(available(TARGETS))
    elif name == "%mtpp" and before == "%mtpp":
        known = list(METHODS)
    else:
        known = [option for action in parser(name)._actions for option in action.option_strings]
    return sorted(each for each in known if each.startswith(word))
