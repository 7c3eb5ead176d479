"""Small valid files of every format that takes one, bytes that break them, and files made to cost time or memory."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from mtpp_dsl.exchange.model.model_json import text_of
from tests.exchange.formats.test_formats import MOIRAI, MSR
from tests.exchange.importers.gguf_files import header, llama, metadata
from tests.small_models import gpt

__all__ = ["BESIDE", "BOMBS", "SEEDS", "edited"]


def varint(number: int) -> bytes:
    """Return a whole number as protocol buffers write it."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def message(number: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer that holds bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_node(op: str, read: str, made: str, more: bytes = b"") -> bytes:
    return message(1, message(1, read.encode()) + message(2, made.encode()) + message(4, op.encode()) + more)


def onnx_model(*nodes: bytes, output: str, size: int = 4, more: bytes = b"") -> bytes:
    """Return an ONNX file by hand: an input x of [size, 3], and these nodes."""
    shape = message(2, message(1, b"\x08" + varint(size)) + message(1, b"\x08\x03"))
    given = message(11, message(1, b"x") + message(2, message(1, b"\x08\x01" + shape)))
    graph = b"".join(nodes) + given + message(12, message(1, output.encode())) + more
    return b"\x08\x08" + message(8, b"\x10\x11") + message(7, graph)


def onnx() -> bytes:
    weight = message(5, b"\x08\x04\x08\x04\x10\x01" + message(8, b"w") + message(9, bytes(64)))
    product = message(1, b"".join(message(*part) for part in ((1, b"w"), (1, b"x"), (2, b"y"), (4, b"MatMul"))))
    return onnx_model(product, onnx_node("Relu", "y", "z"), output="z", more=weight)


def archive(program: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a .pt2 archive with this program."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", compression) as file:
        file.writestr("model/models/model.json", program)
    return found.getvalue()


def pt2() -> bytes:
    """Return an archive of one linear layer."""

    def tensor(name: str) -> dict[str, object]:
        return {"as_tensor": {"name": name}}

    def meta(*sizes: int) -> dict[str, object]:
        return {"dtype": 7, "sizes": [{"as_int": size} for size in sizes], "strides": [{"as_int": 1}] * len(sizes)}

    call = {
        "target": "torch.ops.aten.linear.default",
        "inputs": [{"name": "input", "arg": tensor("x")}, {"name": "weight", "arg": tensor("p")}],
        "outputs": [tensor("y")],
        "metadata": {"nn_module_stack": "L__self__,,Net;L__self___0,0,Linear"},
    }
    graph = {
        "nodes": [call],
        "outputs": [tensor("y")],
        "tensor_values": {"x": meta(2, 4), "p": meta(5, 4), "y": meta(2, 5)},
    }
    specs = [
        {"parameter": {"arg": {"name": "p"}, "parameter_name": "0.weight"}},
        {"user_input": {"arg": tensor("x")}},
    ]
    module = {"graph": graph, "signature": {"input_specs": specs}}
    return archive(json.dumps({"graph_module": module, "range_constraints": {}, "torch_version": "2"}).encode())


def gguf() -> bytes:
    head, weights = header(metadata("llama", 1), llama(1, 32, 32, 2, 1, 8, "f16"))
    return head + bytes(-len(head) % 32 + weights)


GRAPH = {
    "format": "mtpp-graph",
    "version": 1,
    "units": {"work": "s", "size": "B", "memory": "B"},
    "nodes": [{"name": "a", "work": 1, "output": 2, "times": {"gpu": 0.5}}, {"name": "b", "work": 2.5, "kind": "x"}],
    "edges": [{"source": "a", "target": "b", "size": 1}],
}
DOT = 'digraph g { a [work="2 ms", output="1 MiB"]; subgraph cluster_1 { b; c } a -> {b c} [size="3 kB"] }\n'
SEEDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "onnx": ("model.onnx", onnx),
    "pt2": ("model.pt2", pt2),
    "gguf": ("model.gguf", gguf),
    "model": ("model.json", lambda: text_of(gpt(layers=1, width=8, vocabulary=10)).encode()),
    "msr": ("graph.json", lambda: json.dumps(MSR).encode()),
    "moirai": ("tasks.json", lambda: json.dumps(MOIRAI).encode()),
    "graph": ("own.json", lambda: json.dumps(GRAPH).encode()),
    "csv": ("nodes.csv", lambda: b"name,work (ms),output (MiB),kind\na,1,2,x\nb,3.5,,y\n"),
    "dot": ("graph.dot", DOT.encode),
}
"""A small file of each format: its name and what it holds."""
BESIDE = {"csv": {"edges.csv": b"source,target,size (B)\na,b,3\n"}}
"""Files that stand beside it."""


@st.composite
def edited(draw: st.DrawFn, data: bytes) -> bytes:
    """Draw a file that is *data* with some bytes changed, left out, put in, copied, or cut off."""
    found = bytearray(data)
    bytes_of_numbers = st.sampled_from(
        [b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", b"-1", b"1e999", b"NaN", b"\x1b[2J"]
    )
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(found)))
        length = draw(st.sampled_from([1, 2, 8, 60]))
        match draw(st.sampled_from(["set", "cut", "put", "copy", "end"])):
            case "set":
                found[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "cut":
                del found[at : at + length]
            case "put":
                found[at:at] = draw(st.binary(max_size=8) | bytes_of_numbers)
            case "copy":
                other = draw(st.integers(0, len(found)))
                found[at:at] = found[other : other + length]
            case "end":
                del found[at:]
    return bytes(found)


# -- Files that would cost time or memory


def nested() -> bytes:
    """Return an ONNX file with graphs within graphs."""
    graph = b""
    for _ in range(200):
        branch = message(5, message(1, b"then_branch") + message(6, graph) + b"\xa0\x01\x05")
        graph = onnx_node("If", "c", "y", branch)
    return message(7, graph)


def spaces(size: int) -> Iterator[bytes]:
    yield from (b" " * 2**20 for _ in range(size >> 20))


def zip_of(parts: Iterator[bytes]) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as file, file.open("m/models/model.json", "w") as member:
        for part in parts:
            member.write(part)
    return found.getvalue()


def many_members() -> bytes:
    """Return the end of a zip file that says that its table takes 1 GiB."""
    return b"PK\x05\x06" + struct.pack("<4HIIH", 0, 0, 2**16 - 1, 2**16 - 1, 2**30, 0, 0)


def laughs(levels: int) -> bytes:
    """Return DOT in which each set is two of the set before: 2 ** levels edges at the end."""
    body = "a"
    for level in range(levels):
        body = f"{{ {body} }} -> {{ n{level}a n{level}b }}"
    return f"digraph {{ {body} }}".encode()


def two_sets(size: int) -> bytes:
    """Return DOT with an edge from each of so many nodes to each of as many others."""
    first, second = (" ".join(f"{letter}{i}" for i in range(size)) for letter in "ab")
    return f"digraph {{ {{ {first} }} -> {{ {second} }} }}".encode()


def list_of(count: int, kind: int = 8) -> bytes:
    """Return the beginning of a GGUF file with a list of texts."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, kind, count)


def tensor_of(*sizes: int) -> bytes:
    """Return a GGUF file with one tensor."""
    start = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"a"
    return start + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, 0)


def huge_dims(*sizes: int) -> bytes:
    """Return an ONNX file with a weight of these sizes, modulo 2 ** 64."""
    dims = b"".join(b"\x08" + varint(size % 2**64) for size in sizes)
    return onnx_model(
        onnx_node("Relu", "x", "y"),
        output="y",
        more=message(5, dims + b"\x10\x01" + message(8, b"w") + message(9, b"1234")),
    )


BOMBS: dict[str, tuple[str, str, Callable[[], bytes], str]] = {
    "nodes": ("onnx", "m.onnx", lambda: message(7, onnx_node("Relu", "x", "y") * 10**6), "more than 100,000 nodes"),
    "messages": ("onnx", "m.onnx", lambda: message(7, b"\x0a\x00" * 10**7), "more than 100,000 nodes"),
    "nesting": ("onnx", "m.onnx", nested, "nested more than 20 deep"),
    "negative sizes": ("onnx", "m.onnx", lambda: huge_dims(-4, 4), "no tensor can have"),
    "sizes beyond 64 bits": ("onnx", "m.onnx", lambda: huge_dims(2**40, 2**40), "no tensor of more than"),
    "a huge input": (
        "onnx",
        "m.onnx",
        lambda: onnx_model(onnx_node("Relu", "x", "y"), output="y", size=2**62),
        "the size",
    ),
    "a zip bomb": ("pt2", "m.pt2", lambda: zip_of(spaces(140 << 20)), "larger than 128 MiB"),
    "many objects": ("pt2", "m.pt2", lambda: zip_of(iter([b"[", b"{}," * 10**7, b"0]"])), "at most 4,000,000"),
    "deep brackets": ("pt2", "m.pt2", lambda: archive(b"[" * 10**5 + b"]" * 10**5), "nested too deeply"),
    "a table of members": ("pt2", "m.pt2", many_members, "takes more than 16 MiB"),
    "counts": ("gguf", "m.gguf", lambda: b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63), "at most 30,000"),
    "texts": ("gguf", "m.gguf", lambda: list_of(2**40), "at most 16,777,216"),
    "lists of lists": ("gguf", "m.gguf", lambda: list_of(2, 9) + struct.pack("<IQ", 9, 2) * 99, "of an unknown type"),
    "huge tensors": ("gguf", "m.gguf", lambda: tensor_of(2**62, 2**62), "has the shape"),
    "operators": (
        "model",
        "m.json",
        lambda: b'{"format": "mtpp-model", "operators": [' + b"{}," * 10**6 + b"{}]}",
        ".",
    ),
    "brackets": (
        "model",
        "m.json",
        lambda: b'{"format": "mtpp-model", "operators": ' + b"[" * 10**5,
        "nested too deeply",
    ),
    "laughs": ("dot", "m.dot", lambda: laughs(60), "."),
    "edges of sets": ("dot", "m.dot", lambda: two_sets(3000), "."),
    "clusters": ("dot", "m.dot", lambda: b"digraph { " + b"subgraph { " * 10**5, "."),
    "columns": ("csv", "nodes.csv", lambda: b"name" + b",work" * 10**5 + b"\n", "."),
    "quotes": ("csv", "nodes.csv", lambda: b'name,kind\n"' + b"a" * 10**7, "."),
}
"""By a name for each: the format, the file, what it holds, and what the refusal says."""
