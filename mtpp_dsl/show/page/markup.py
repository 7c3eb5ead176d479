"""HTML and SVG made of tags, in which everything that is no markup is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, Union

from mtpp_dsl.core.base.units import UNITS
from mtpp_dsl.core.text.visible import printable

VOID = {"br", "col", "hr", "img", "input", "meta"}
PROSE = {
    "p",
    "li",
    "td",
    "th",
    "dt",
    "dd",
    "a",
    "caption",
    "figcaption",
    "summary",
    "h1",
    "h2",
    "h3",
    "strong",
    "label",
}
"""What holds sentences, in whose own words no line ends between a number and its unit; not what is to be copied."""
LONG = 40
"""Longer names may be broken anywhere."""
_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_UNITS = "|".join(sorted((*map(re.escape, UNITS), "1/s"), key=len, reverse=True))
_QUANTITY = re.compile(rf"(?<=[0-9]) (?=(?:{_UNITS})(?!\w))")
_SPECIAL = re.compile("[&<>\"']")
_IN_SCRIPT = re.compile("[<>&]")


class Markup(str):
    """Text that is HTML already. Only :func:`tag` and its like make it; all other text is escaped by them."""

    __slots__ = ()


Child: TypeAlias = Union[str, int, float, Iterable["Child"], None]  # noqa: UP007  recursive


def escape(text: object) -> Markup:
    """Return text for HTML: with entities, and a sign in place of what hides or turns text, or is no character."""
    seen = printable(str(text))
    return Markup(_SPECIAL.sub(lambda match: _SIGNS[match[0]], seen))


def tag(element: str, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Args:
        element: its name, such as ``td``; "" for the children alone.
        children: text, which is escaped; markup, which is not; None, which is left out; or lists of these.
        attributes: a trailing underscore is dropped and others become hyphens (``class_``, ``aria_label``); False and
            None leave it out, True gives it no value. There is no ``style``, which the policy of pages forbids: use a
            class, or the attributes of SVG.

    >>> tag("a", "1 < 2", None, [tag("b", "!")], href="#x", aria_current=True, class_=None)
    '<a href="#x" aria-current>1 &lt; 2<b>!</b></a>'
    """
    inner = "".join(_flat(children, _unbroken if element in PROSE else str))
    if not element:
        return Markup(inner)
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in VOID:
        assert not inner, f"<{element}> has no content"
        return Markup(f"<{element}{shown}>")
    return Markup(f"<{element}{shown}>{inner}</{element}>")


def _flat(children: Iterable[Child], words: Callable[[str], str]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, (str, int, float)):
            yield escape(words(str(child)))
        else:
            yield from _flat(child, words)


def _unbroken(text: str) -> str:
    """Return text with a no-break space between each number and its unit."""
    return _QUANTITY.sub("\u00a0", text)


def _attribute(key: str, value: object) -> str:
    called = key.rstrip("_").replace("_", "-")
    assert not called.startswith(("style", "on")), f"the policy of pages forbids {called}"
    if value is None or value is False:
        return ""
    return f" {called}" if value is True else f' {called}="{escape(_number(value))}"'


def _number(value: object) -> object:
    """Return a coordinate with two decimals at most: pages have many."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def coordinate(value: float) -> str:
    """Return a place in a picture, with one decimal at most.

    >>> coordinate(12.04), coordinate(0.25)
    ('12', '0.2')
    """
    return f"{value:.1f}".removesuffix(".0")


def svg(
    width: float, height: float, *children: Child, title: str, view: str | None = None, **attributes: object
) -> Markup:
    """Return a picture that is scaled to its place.

    Args:
        width: of its coordinates.
        height: of its coordinates.
        children: its elements.
        title: what a screen reader says in place of it.
        view: its ``viewBox``, where that does not begin at 0.
        attributes: as of :func:`tag`.
    """
    box = view or f"0 0 {_number(float(width))} {_number(float(height))}"
    known = {"viewBox": box, "role": "img", "aria_label": title, **attributes}
    return tag("svg", *children, **known)


def name(text: str, most: int = 200) -> Markup:
    """Return a name of the spec, shortened in the middle, that does not turn the text around it (``bdi``)."""
    shown = seen(text, most)
    return tag("bdi", shown, class_="name long" if len(shown) > LONG else "name")


def seen(text: str, most: int) -> str:
    """Return a name that can be seen: shortened, and in quotes where it is nothing or spaces."""
    return short(text, most) if text.strip() else f"“{short(text, most)}”"


def short(text: str, most: int) -> str:
    """Return text of at most *most* characters, with its middle left out where it is longer.

    >>> short("transformer.block.attention", 11)
    'trans…ntion'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[len(text) - half :]}"


def data_block(identifier: str, data: Any) -> Markup:
    """Return a block of JSON that scripts read, its strings made visible as all other text."""
    text = json.dumps(_visible(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = Markup(_IN_SCRIPT.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
    return tag("script", safe, type="application/json", id=identifier)


def _visible(data: Any) -> Any:
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {_visible(key): _visible(value) for key, value in data.items()}
    return [_visible(value) for value in data] if isinstance(data, (list, tuple)) else data


# Columns of numbers for scripts, written so that pages stay small: values that come again are numbered.

DIGITS = 6
"""Of numbers that hardly come twice."""


def packed(values: Sequence[float | str]) -> dict[str, Any]:
    """Return values as ``v``, or, where few differ, these as ``v`` and the number of each as ``i``; nan is None.

    >>> packed([3.0, 3.0, 0.5, 3.0]), packed([0.123456789, float("nan")])
    ({'v': [3, 0.5], 'i': [0, 0, 1, 0]}, {'v': [0.123457, None]})
    """
    number: dict[float | str | None, int] = {}
    plain = [value if isinstance(value, str) or value == value else None for value in values]
    index = [number.setdefault(value, len(number)) for value in plain]
    if 2 * len(number) <= len(plain) or any(isinstance(value, str) for value in plain):
        return {"v": [_shortest(value) for value in number], "i": index}
    return {"v": [_shortest(value, DIGITS) for value in plain]}


def _shortest(value: float | str | None, digits: int = 12) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    rounded = float(f"{value:.{digits}g}")
    if rounded in (float("inf"), float("-inf")):
        return None
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
