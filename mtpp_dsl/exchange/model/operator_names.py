"""Names of operators and groups that can be written in a spec, from the paths of modules."""

from __future__ import annotations

import re
from collections.abc import Container

_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def language_name(path: str, root: str = "model") -> str:
    """Return a module path as a name of the language: components that are numbers are subscripts.

    Other characters than letters, digits and underscores become underscores; a path that begins with a number begins
    with *root*.

    >>> language_name("model.layers.3.mlp"), language_name("0.weight"), language_name(""), language_name("/a-b/Conv.2x")
    ('model.layers[3].mlp', 'model[0].weight', 'model', '_a_b_Conv._2x')
    """
    name = ""
    for part in filter(None, path.split(".")):
        if part.isascii() and part.isdigit() and len(part) < 10:
            name = f"{name or root}[{int(part)}]"
            continue
        word = _OTHER.sub("_", part)
        name += f"{'.' if name else ''}{'_' if word[0].isdigit() else ''}{word}"
    return name or root


class Names:
    """Gives each operator a name of its own: its module's, its operation's, and a number where both are taken."""

    def __init__(self, taken: Container[str] = ()) -> None:
        self._taken, self._given = taken, set[str]()
        self._next: dict[str, int] = {}

    def operator(self, path: str, operation: str) -> str:
        """Return a name for an operator: *operation* is a short word, such as ``linear``.

        >>> names = Names()
        >>> names.operator("h.0", "linear"), names.operator("h.0", "linear"), names.operator("", "add")
        ('h[0].linear', 'h[0].linear_1', 'add')
        """
        word = language_name(operation.replace(".", "_"))
        return self.unique(f"{language_name(path)}.{word}" if path else word)

    def unique(self, name: str) -> str:
        """Return *name*, with a number behind it if it is taken."""
        candidate = name
        while candidate in self._given or candidate in self._taken:
            self._next[name] = self._next.get(name, 0) + 1
            candidate = f"{name}_{self._next[name]}"
        self._given.add(candidate)
        return candidate
