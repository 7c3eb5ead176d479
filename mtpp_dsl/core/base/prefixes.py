"""Find what a path such as ``layer[3].attn`` is the name of, or the beginning of the names of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

_MARKS = {".": "\x01", "/": "\x02", "[": "\x03"}
"""What may follow a prefix, in characters before all others: names below a prefix then follow each other, sorted."""
_LOW = str.maketrans(_MARKS)
_BEYOND = "\x04"
_WORD = re.compile(r"[^./\[]*")
_COMPONENT = re.compile("[\x01\x02]?[^\x01\x02]*")
_BRACKET = re.compile("\x03[^\x03\\]]*\\]")
_SHORTER = re.compile(r"(?<=.)(?=[./\[])|(?<=,)")


class Prefixes:
    """Names by all that they begin with, up to a dot, a slash or a bracket.

    Args:
        names: of nodes, or of devices; sorted once, when something is first looked up.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._without: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _sorted(self) -> tuple[list[str], list[int]]:
        """Names with their marks replaced, sorted, and the numbers that they have."""
        keys = [name.translate(_LOW) for name in self.names]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [keys[v] for v in order], order

    @cached_property
    def _words(self) -> frozenset[str]:
        """What names have before their first mark."""
        return frozenset(_WORD.match(name).group() for name in self.names)  # type: ignore[union-attr]

    @cached_property
    def _several(self) -> bool:
        """Whether there are names with several subscripts."""
        return any("," in name for name in self.names)

    def is_leaf(self, name: str) -> bool:
        """Return whether no other name begins with *name*, which is one of them."""
        keys, key = self._sorted[0], name.translate(_LOW)
        after = bisect_left(keys, key) + 1
        if after < len(keys) and keys[after].startswith(key) and keys[after][len(key) :][:1] < _BEYOND:
            return False
        return not (self._several and key.endswith("]") and len(self._below(key)) > 1)

    def below(self, path: str) -> tuple[int, ...]:
        """Return the numbers, rising, of the names that are *path* or begin with it.

        First subscripts stand for all members that have them: ``tile[0]`` for ``tile[0,1]``. Where no name begins with
        a path, subscripts within it may be left out: ``layer.attn`` is ``layer[0].attn``, ``layer[1].attn`` and so on.

        >>> prefixes = Prefixes(["layer[0].attn", "layer[0].attn.q", "layer[0].attn_mask", "layer[1].attn", "t[0,1]"])
        >>> prefixes.below("layer[0].attn"), prefixes.below("layer.attn"), prefixes.below("t[0]"), prefixes.below("la")
        ((0, 1), (0, 1, 3), (4,), ())
        """
        if _WORD.match(path).group() not in self._words:  # type: ignore[union-attr]
            return ()
        key = path.translate(_LOW)
        names = self._below(key)
        if not names and ("." in path or "/" in path):
            if path not in self._without:
                ends = self._completed(_COMPONENT.findall(key)[:-1])
                self._without[path] = tuple(sorted({v for end in ends for v in self._below(end)}))
            return self._without[path]
        return tuple(sorted(names))

    def shorter(self, most: int) -> Iterator[str]:
        """Yield what names begin with, each once, for suggestions; those of *most* names."""
        seen: dict[str, None] = {}
        for name in self.names[:most]:
            seen.update(dict.fromkeys(name[: match.start()].removesuffix(",") for match in _SHORTER.finditer(name)))
        yield from seen

    def _range(self, key: str, beyond: str) -> tuple[int, int]:
        keys = self._sorted[0]
        first = bisect_left(keys, key)
        return first, bisect_left(keys, beyond, first)

    def _below(self, key: str) -> list[int]:
        """Return the numbers of the names that begin with *key*; of a subscript also those that have more of them."""
        order = self._sorted[1]
        first, last = self._range(key, key + _BEYOND)
        names = order[first:last]
        if key.endswith("]") and self._several:
            first, last = self._range(f"{key[:-1]},", f"{key[:-1]}-")  # '-' is the character behind ','
            names += order[first:last]
        return names

    def _completed(self, components: Sequence[str]) -> list[str]:
        """Return the beginnings of names that consist of components, with the subscripts that these leave out."""
        prefixes = [""]
        for component in components:
            prefixes = [longer for prefix in prefixes for longer in self._next(prefix, component)]
        return prefixes

    def _next(self, prefix: str, component: str) -> list[str]:
        if self._below(prefix + component):
            return [prefix + component]
        return [longer for inner in self._subscripted(prefix) for longer in self._next(inner, component)]

    def _subscripted(self, prefix: str) -> Iterator[str]:
        """Yield the prefixes that are *prefix* and a subscript: ``layer[0]``, ``layer[1]`` and so on."""
        keys = self._sorted[0]
        first, last = self._range(prefix + _MARKS["["], prefix + _BEYOND)
        while first < last:
            match = _BRACKET.match(keys[first], len(prefix))
            if match is None:
                first += 1
                continue
            inner = keys[first][: match.end()]
            yield inner
            first = self._range(inner, inner + _BEYOND)[1]
