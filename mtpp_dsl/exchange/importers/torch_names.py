"""Names of the calls in a graph of torch.export: the same for one model on any device and with any sizes.

This file needs nothing but Python: stages that are written out as Python hold a copy of it.
"""

import re
from typing import Any

__all__ = ["calls", "is_whole_slice", "module_path", "operator_names"]

OTHER = re.compile(r"[^A-Za-z0-9_]+")
CHECKS = ("_assert_", "sym_", "_set_grad_enabled", "_functional_assert")
"""How the names of operations begin that compute no tensor."""


def operator_names(graph: Any) -> dict[Any, str]:
    """Return the name of each call of *graph* that makes tensors, in their order: its module's path and the operation.

    A second call of an operation in one module is ``linear_1``, and so on. Numbers of a path are subscripts, as in
    ``model.layers[3].mlp.up_proj.linear``.
    """
    names: dict[Any, str] = {}
    given: set[str] = set()
    following: dict[str, int] = {}
    for node in calls(graph):
        path = language_name(module_path(node))
        first = candidate = f"{path}.{operator_word(node)}" if path else operator_word(node)
        while candidate in given:
            following[first] = following.get(first, 0) + 1
            candidate = f"{first}_{following[first]}"
        given.add(candidate)
        names[node] = candidate
    return names


def calls(graph: Any) -> list[Any]:
    """Return the nodes of *graph* that compute tensors.

    Arithmetic of sizes, assertions, parts of tuples and slices of all there is are none. The last are there or not as
    sizes are open or numbers.
    """
    return [node for node in graph.nodes if node.op == "call_function" and _makes_tensors(node)]


def module_path(node: Any) -> str:
    """Return the path of the module that a node was called in, as torch spells it: ``model.layers.3.mlp``."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]) if stack else ""
    return re.sub(r"@\d+", "", path)  # torch's mark of a module that is called again


def operator_word(node: Any) -> str:
    """Return a short word for what a node does: ``linear`` for ``aten.linear.default``."""
    packet = getattr(node.target, "overloadpacket", node.target)
    name = str(getattr(packet, "__name__", packet)).strip("_")
    return _word(name or "call")


def language_name(path: str) -> str:
    """Return a module path as a name of mtpp's language: its parts that are numbers are subscripts."""
    name = ""
    for part in filter(None, path.split(".")):
        if part.isascii() and part.isdigit() and len(part) < 10:
            name = f"{name or 'model'}[{int(part)}]"
        else:
            name += f"{'.' if name else ''}{_word(part)}"
    return name


def _word(part: str) -> str:
    word = OTHER.sub("_", part)
    return f"{'_' if word[0].isdigit() else ''}{word}"


def is_whole_slice(node: Any) -> bool:
    """Return whether a node is a slice of all of a tensor, as ``x[:]`` is."""
    if str(node.target) != "aten.slice.Tensor":
        return False
    given = list(node.args[2:])
    start, end, step = given + [None, None, 1][len(given) :]
    return start in (None, 0) and (end is None or (isinstance(end, int) and end >= 2**62)) and step == 1


def _makes_tensors(node: Any) -> bool:
    """Return whether a call is an operation that makes or changes tensors, and no part of what another one made."""
    name = str(getattr(getattr(node.target, "overloadpacket", node.target), "__name__", node.target))
    if name.startswith(CHECKS) or not hasattr(node.target, "namespace") or is_whole_slice(node):
        return False
    value = node.meta.get("val")
    return any(hasattr(part, "element_size") for part in (value if isinstance(value, (list, tuple)) else (value,)))
