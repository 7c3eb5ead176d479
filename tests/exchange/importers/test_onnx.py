"""ONNX files as operators: shapes over symbols, constants, operations, bytes, names; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtpp_dsl.cli.run import run
from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.onnx.importer import from_onnx
from mtpp_dsl.exchange.model.model import Model
from mtpp_dsl.exchange.model.model_json import read
from mtpp_dsl.exchange.model.sizes import value
from tests.late import late

onnx: Any = late("onnx")
pytestmark = pytest.mark.needs("onnx")
HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "own" : 1]>\n'
LIGHT = {  # operators, operations, bytes of weights
    "bvlc_alexnet": (24, 1_309_120_768, 243_860_896),
    "densenet121": (668, 5_668_323_328, 32_584_608),
    "inception_v1": (143, 2_863_112_704, 27_994_208),
    "inception_v2": (371, 4_037_703_680, 44_939_168),
    "resnet50": (176, 8_178_368_512, 102_440_608),
    "shufflenet": (203, 249_329_056, 5_680_608),
    "squeezenet": (66, 698_303_872, 4_941_984),
    "vgg19": (46, 39_264_124_928, 574_668_960),
    "zfnet512": (22, 2_963_454_016, 349_002_144),
}


def written(text: str, folder: Path, change: Any = None) -> Path:
    """Write the model that *text* describes, with the package onnx's own parser."""
    model = onnx.parser.parse_model(HEAD + text)
    made = {name for node in model.graph.node for name in node.output}
    for each in [each for each in model.graph.value_info if each.name not in made]:  # what no node makes is a weight
        kind, dims = each.type.tensor_type.elem_type, [dim.dim_value for dim in each.type.tensor_type.shape.dim]
        zeros = np.zeros(dims, onnx.helper.tensor_dtype_to_np_dtype(kind))
        model.graph.initializer.append(onnx.numpy_helper.from_array(zeros, each.name))
        model.graph.value_info.remove(each)
    if change is not None:
        change(model)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def flop(model: Model, **symbols: int) -> int:
    """Return all operations of a model."""
    return int(sum(value(each.flop, symbols) for each in model.operators))  # type: ignore[arg-type]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LIGHT)
def test_light_models_import(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The nine models that come with the package import without a warning, by the command line as well."""
    path = Path(onnx.__path__[0]) / f"backend/test/data/light/light_{name}.onnx"
    if not path.is_file():
        pytest.skip("this build of onnx comes without its light models")
    assert run(["import", "onnx", str(path), "-o", str(tmp_path / "model.json")]) == 0
    model = read(tmp_path / "model.json")
    assert model == from_onnx(path)
    assert (model.n, flop(model), sum(weight.bytes for weight in model.weights)) == LIGHT[name]
    assert not model.warnings
    assert [model.tensors[t].shape for t in model.inputs] == [(1, 3, 224, 224)]
    assert capsys.readouterr().err == ""


ATTENTION = """g (int64[batch, seq] ids) => (logits)
<float[100, 64] table, float[64, 64] q, float[64, 64] k, float[64, 100] head>
{
  x = Gather(table, ids)
  shape = Shape(x)
  zero = Constant<value = int64 {0}>()
  one = Constant<value = int64 {1}>()
  b = Gather(shape, zero)
  s = Gather(shape, one)
  axis = Constant<value = int64[1] {0}>()
  b1 = Unsqueeze(b, axis)
  s1 = Unsqueeze(s, axis)
  heads = Constant<value = int64[2] {4, 16}>()
  apart = Concat<axis = 0>(b1, s1, heads)
  left = MatMul(x, q)
  right = MatMul(x, k)
  left4 = Reshape(left, apart)
  right4 = Reshape(right, apart)
  lh = Transpose<perm = [0, 2, 1, 3]>(left4)
  rh = Transpose<perm = [0, 2, 3, 1]>(right4)
  scores = MatMul(lh, rh)
  p = Softmax(scores)
  logits = MatMul(x, head)
}"""


def test_sizes_stay_symbols(tmp_path: Path) -> None:
    """Shapes that are computed by operators are polynomials of batch and seq, and agree with those of numbers."""
    path = written(ATTENTION, tmp_path)
    model = from_onnx(path)
    assert set(model.symbols) == {"batch", "seq"}
    scores = model.operators[model.index["MatMul[2]"]]
    assert scores.flop == "128*batch*seq**2"
    for batch, seq in [(1, 1), (3, 40)]:
        fixed = from_onnx(path, {"batch": batch, "seq": seq})
        assert not fixed.symbols
        assert [value(each.flop or 0, {"batch": batch, "seq": seq}) for each in model.operators] == [
            each.flop for each in fixed.operators
        ]
        assert flop(fixed) == batch * seq * (2 * 64 * 64 * 2 + 2 * 64 * 100 + 128 * seq)
    tied = from_onnx(path, {"seq": "16*batch"})
    assert set(tied.symbols) == {"batch"}
    assert flop(tied, batch=2) == flop(model, batch=2, seq=32)


def test_sizes_that_are_formulas(tmp_path: Path) -> None:
    """Inputs whose sizes the file writes as formulas over its symbols bring no symbols of their own."""

    def grown(model: Any) -> None:
        model.graph.input[2].type.tensor_type.shape.dim[1].dim_param = "past + seq"

    text = """g (float[batch,seq] x, float[batch,past] p, float[batch,sum] m) => (y)
    { a = Concat<axis = 1>(p, x) y = Add(a, m) }"""
    model = from_onnx(written(text, tmp_path, grown))
    assert set(model.symbols) == {"batch", "past", "seq"}
    assert value(model.tensors[-1].shape[1], {"batch": 2, "past": 30, "seq": 4}) == 34
    assert from_onnx(written(text, tmp_path, grown), {"past": 0, "seq": 8}).tensors[-1].shape == ("batch", 8)
    with pytest.raises(UsageError, match="such as --size batch=8, or formulas"):
        from_onnx(written(text, tmp_path))
    clash = from_onnx(written(text, tmp_path), {"sum": "past+seq"})
    assert clash.tensors[-1].shape == model.tensors[-1].shape


@pytest.mark.parametrize(("fmod", "shape"), [(1, (3, 4)), (0, (1, 12))])
def test_remainders_have_the_sign_that_the_node_says(fmod: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    """The rest of -7 by 4 is -3 where Mod is that of C, and 1 elsewhere; shapes may be computed from it."""
    text = """g (float[3,4] x) => (y) <int64[1] a = {-7}, int64[1] b = {4}, int64[1] open = {-1}>
    { rest = Mod<fmod = FMOD>(a, b) size = Abs(rest) sizes = Concat<axis = 0>(size, open) y = Reshape(x, sizes) }"""
    assert from_onnx(written(text.replace("FMOD", str(fmod)), tmp_path)).tensors[-1].shape == shape


def test_look_ups_read_rows(tmp_path: Path) -> None:
    """An embedding reads the rows that it makes; shape arithmetic on given numbers is run again where it is needed."""
    model = from_onnx(written(ATTENTION, tmp_path))
    table = model.operators[0]
    assert (table.kind, table.weight_read, table.flop) == ("embedding", "256*batch*seq", 0)
    assert model.weights[table.weights[0]].bytes == 100 * 64 * 4
    kinds = {each.name: each.kind for each in model.operators}
    assert kinds["Reshape[0]"] == "view"
    assert kinds["Transpose[0]"] == "copy"
    shape = model.operators[model.index["Shape[0]"]]
    assert (shape.read, shape.write) == (0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (float[2,8,9,9] x) => (y) <float[6,4,3,3] w> { y = Conv<group = 2>(x, w) }", 2 * 2 * 6 * 49 * 36),
        ("g (float[2,8,5,5] x) => (y) <float[8,3,2,2] w> { y = ConvTranspose(x, w) }", 2 * 2 * 8 * 25 * 12),
        ("g (float[7,5] x) => (y) <float[9,7] w> { y = Gemm<transA = 1, transB = 1>(x, w) }", 2 * 5 * 7 * 9),
        ('g (float[2,3,5] x) => (y) <float[5,4] w> { y = Einsum<equation = "bij,jk->bik">(x, w) }', 2 * 2 * 3 * 5 * 4),
        ('g (float[3,5] x) => (y) <float[3,5] w> { y = Einsum<equation = "ij,ij->ij">(x, w) }', 0),
        (
            """g (float[6,2,5] x) => (y) <float[2,28,5] w, float[2,28,7] r>
            { y = LSTM<hidden_size = 7, direction = "bidirectional">(x, w, r) }""",
            2 * 6 * 2 * 2 * 28 * (5 + 7),
        ),
        (
            "g (float[6,2,5] x) => (y) <float[1,21,5] w, float[1,21,7] r> { y = GRU<hidden_size = 7>(x, w, r) }",
            3024 * 2,
        ),
        ("g (float[2,4,9] x) => (y) { y = Relu(x) }", 0),
        ("g (float[1,2,8,8] x) => (y) { y = AveragePool<kernel_shape = [2, 2]>(x) }", 0),
        (
            """g (float[3,64] x) => (y) <uint8[32,2,16] w, float[64] s>
            { y = com.microsoft.MatMulNBits<K = 64, N = 32, bits = 4, block_size = 32>(x, w, s) }""",
            2 * 3 * 64 * 32,
        ),
    ],
    ids=lambda given: given[given.index("{") :][:24] if isinstance(given, str) else "",
)
def test_operations(text: str, expected: int, tmp_path: Path) -> None:
    """Products are counted as multiplications and additions, and nothing else is."""
    assert flop(from_onnx(written(text, tmp_path))) == expected


def test_attention_of_the_standard(tmp_path: Path) -> None:
    """Attention counts scores and values for all pairs of queries and keys, past ones too."""

    def newer(model: Any) -> None:
        model.opset_import[0].version = 23
        model.ir_version = 11

    text = "g (float[2,4,s,16] q, float[2,2,t,16] k, float[2,2,t,8] v) => (y) { y = Attention(q, k, v) }"
    model = from_onnx(written(text, tmp_path, newer))
    assert flop(model, s=3, t=10) == 2 * 2 * 4 * 3 * 10 * (16 + 8)
    assert model.operators[0].kind == "attention"


def test_constants_become_weights(tmp_path: Path) -> None:
    """What depends on constants alone is a weight; large ones are stored once, small ones by each reader."""
    text = """g (float[1,100] x) => (y)
    <int64[2] shape = {100, 200}, float[3] tiny = {1, 2, 3}>
    { w = ConstantOfShape<value = float[1] {0.5}>(shape)
      half = Transpose(w)
      a = MatMul(x, w)
      b = MatMul(a, half)
      c = MatMul(b, w)
      three = ReduceSum(tiny)
      d = Mul(c, three)
      y = Mul(d, three) }"""
    model = from_onnx(written(text, tmp_path))
    assert [each.op for each in model.operators] == ["MatMul", "MatMul", "MatMul", "Mul", "Mul"]
    assert [each.id for each in model.operators] == ["2", "3", "4", "6", "7"]
    assert model.operators[0].weights == model.operators[2].weights
    assert [(each.bytes, each.shape) for each in model.weights][:2] == [(80_000, (100, 200)), (80_000, (200, 100))]
    assert set(model.operators[3].weights).isdisjoint(model.operators[4].weights)


def test_quantised_weights_stay_small(tmp_path: Path) -> None:
    """Weights behind DequantizeLinear take the bytes of their small numbers; quantised products are of int8."""
    text = """g (float[1,100] x) => (y, z)
    <int8[100,50] w, float scale, uint8[100,50] v, uint8[1,100] u, float us, uint8 zero>
    { wide = DequantizeLinear(w, scale)
      y = MatMul(x, wide)
      z = QLinearMatMul(u, us, zero, v, us, zero, us, zero) }"""

    def given(model: Any) -> None:
        model.graph.input.extend([onnx.helper.make_tensor_value_info("u", 2, [1, 100])])
        del model.graph.initializer[3]

    model = from_onnx(written(text, tmp_path, given))
    first, second = model.operators
    assert (model.weights[first.weights[0]].dtype, model.weights[first.weights[0]].bytes) == ("int8", 5004)
    assert (first.dtype, second.dtype, second.flop) == ("fp32", "int8", 10_000)


def test_functions_are_written_out(tmp_path: Path) -> None:
    """A function of the file comes as its nodes; places say where the call is."""
    text = """g (float[2,4] x) => (y) { a = Relu(x) y = own.twice(a) }
    <domain: "own", opset_import: ["" : 17]> twice (p) => (r) { q = Sigmoid(p) r = Tanh(q) }"""
    model = from_onnx(written(text, tmp_path))
    assert [(each.op, each.id) for each in model.operators] == [("Relu", "0"), ("Sigmoid", "1.0"), ("Tanh", "1.1")]


def test_functions_that_explode_are_refused(tmp_path: Path) -> None:
    """Functions that call the next one twice come to 2 ** 40 nodes, and one that calls itself to no number."""
    calls = "\n".join(
        f'<domain: "own", opset_import: ["own" : 1]> f{i} (x) => (y) {{ a = own.f{i + 1}(x) y = own.f{i + 1}(a) }}'
        for i in range(40)
    )
    last = '<domain: "own", opset_import: ["" : 17]> f40 (x) => (y) { y = Relu(x) }'
    with pytest.raises(UsageError, match="more than 100,000 nodes"):
        from_onnx(written(f"g (float[2] x) => (y) {{ y = own.f0(x) }}\n{calls}\n{last}", tmp_path))
    loop = '<domain: "own", opset_import: ["" : 17, "own" : 1]> f0 (x) => (y) { y = own.f0(x) }'
    with pytest.raises(UsageError, match="calls itself"):
        from_onnx(written(f"g (float[2] x) => (y) {{ y = own.f0(x) }}\n{loop}", tmp_path))


def test_graphs_within_nodes(tmp_path: Path) -> None:
    """A Scan counts its body for each step, an If its costlier branch, a Loop its rounds where the file says them."""
    text = """g (float[seq,4] x, bool c, int64 rounds) => (y, z, w) <float[4,4] m, int64 five = {5}, float[4] init>
    {
      y = If (c) <then_branch = t () => (float[seq,4] a) { a = MatMul(x, m) },
                  else_branch = e () => (float[seq,4] b) { b = Identity(x) }>
      s, z = Scan <num_scan_inputs = 1, body = bd (float[4] st, float[4] xi) => (float[4] so, float[4] zo)
        { so = MatMul(xi, m) zo = Relu(so) }> (init, x)
      w = Loop <body = lb (int64 i, bool k, float[seq,4] p) => (bool k2, float[seq,4] p2)
        { k2 = Identity(k) p2 = MatMul(p, m) }> (ROUNDS, , x)
    }"""
    model = from_onnx(written(text.replace("ROUNDS", "five"), tmp_path))
    assert [value(each.flop or 0, {"seq": 7}) for each in model.operators] == [7 * 32, 7 * 32, 5 * 7 * 32]
    assert all(model.weights[number].bytes for each in model.operators for number in each.weights)
    assert len(model.warnings) == 2
    unknown = from_onnx(written(text.replace("ROUNDS", "rounds"), tmp_path))
    assert unknown.operators[2].flop is None
    assert any("the operations of Loop are unknown" in warning for warning in unknown.warnings)


def test_operators_that_nobody_knows(tmp_path: Path) -> None:
    """An operator of somebody's own has no operations; without a shape of its output the file is refused."""
    text = "g (float[2,n] x) => (float[2,n] z) VALUES { y = own.Magic(x) z = Relu(y) }"
    with pytest.raises(UsageError, match=r"shapes of 'y' \(made by own.Magic\)"):
        from_onnx(written(text.replace("VALUES", ""), tmp_path))
    model = from_onnx(written(text.replace("VALUES", "<float[2,n] y>"), tmp_path))
    assert model.operators[0].flop is None
    assert model.tensors[1].shape == (2, "n")
    assert model.warnings == ("the operations of own.Magic are unknown: give them, as --flop 'own.Magic=FORMULA'",)


def test_given_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The user gives operations that nobody can count, and a grouping that a spec need not repeat."""
    path = written("g (float[2,n] x) => (z) <float[2,n] y> { y = own.Magic(x) z = Relu(y) }", tmp_path)
    options = ["--flop", "own.Magic=6*n", "--group-by", "operator", "-o", str(tmp_path / "model.json")]
    assert run(["import", "onnx", str(path), *options]) == 0
    assert capsys.readouterr().err == ""
    model = read(tmp_path / "model.json")
    assert (model.operators[0].flop, model.group_by) == ("6*n", "operator")
    assert run(["import", "onnx", str(path), *options, "--flop", "Conv=3"]) == 0
    assert "--flop Conv: the model has no such operator" in capsys.readouterr().err
    assert run(["import", "onnx", str(path), *options, "--group-by", "layers"]) == 2
    assert "did you mean 'layer'?" in capsys.readouterr().err


def test_module_paths(tmp_path: Path) -> None:
    """Paths come from names with slashes, from the metadata of torch's exporter, or from the weights."""

    def named(model: Any) -> None:
        nodes = model.graph.node
        nodes[0].name = "/model/layers.3/mlp/up/MatMul"
        entry = nodes[1].metadata_props.add()
        entry.key, entry.value = "pkg.torch.onnx.name_scopes", "['', 'model', 'model.norm', 'layer_norm']"
        nodes[2].input[1] = model.graph.initializer[1].name = "lm_head.weight"

    text = "g (float[1,4] x) => (y) <float[4,4] w, float[4,4] v> { a = MatMul(x, w) b = Relu(a) y = MatMul(b, v) }"
    model = from_onnx(written(text, tmp_path, named))
    assert [(each.path, each.layer, each.role) for each in model.operators] == [
        ("model.layers.3.mlp.up", 3, "layer"),
        ("model.norm", None, "norm"),
        ("lm_head", None, "head"),
    ]
    assert [each.name for each in model.operators] == [
        "model.layers[3].mlp.up.MatMul",
        "model.norm.Relu",
        "lm_head.MatMul",
    ]


def test_old_files_list_weights_as_inputs(tmp_path: Path) -> None:
    """Initializers that an old file lists as inputs are weights, and no inputs."""

    def old(model: Any) -> None:
        model.ir_version = 3
        model.graph.input.extend([onnx.helper.make_tensor_value_info("w", 1, [4, 4])])

    model = from_onnx(written("g (float[1,4] x) => (y) <float[4,4] w> { y = MatMul(x, w) }", tmp_path, old))
    assert [model.tensors[t].name for t in model.inputs] == ["x"]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../secret.bin"}, "outside the folder"),
        ({"location": "/etc/hostname"}, "outside the folder"),
        ({"location": "C:\\secret.bin"}, "outside the folder"),
        ({"location": "..\\secret.bin"}, "outside the folder"),
        ({"location": "link.bin"}, "a link out of the folder"),
        ({"location": "here.bin", "offset": "many"}, "which is no number"),
        ({"location": "here.bin", "length": "8"}, "takes 64 bytes"),
        ({"location": "here.bin", "offset": "60"}, "ends before them"),
        ({"location": ""}, "outside the folder"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_external_data_is_checked_and_not_opened(entries: dict[str, str], message: str, tmp_path: Path) -> None:
    """Names of external data that leave the folder are refused; those inside are not opened."""
    (tmp_path / "link.bin").symlink_to("/etc/hostname")
    inside = tmp_path / "here.bin"
    inside.write_bytes(bytes(100))
    inside.chmod(0)

    def external(model: Any) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.ClearField("raw_data")
        tensor.data_location = 1
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)

    text = "g (float[1,4] x) => (y) <float[4,4] w> { y = MatMul(x, w) }"
    with pytest.raises(UsageError, match=message):
        from_onnx(written(text, tmp_path, external))
    entries = {"location": "here.bin", "offset": "36", "length": "64"}
    assert from_onnx(written(text, tmp_path, external)).weights[0].bytes == 64


def test_weights_are_not_read(tmp_path: Path) -> None:
    """Values of large tensors are left out before anything is made of them; their number must fit the shape."""
    from mtpp_dsl.exchange.importers.onnx.stripping import strip

    table = onnx.numpy_helper.from_array(np.zeros((400, 500), np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["batch", 400])],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
        [table],
    )
    data = onnx.helper.make_model(graph).SerializeToString()
    assert len(strip(data, "model.onnx").data) < 200
    (tmp_path / "model.onnx").write_bytes(data)
    assert from_onnx(tmp_path / "model.onnx").weights[0].bytes == 800_000
    table.dims[0] = 300
    graph.initializer[0].CopyFrom(table)
    (tmp_path / "model.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(UsageError, match="800,000 bytes of data for its shape"):
        from_onnx(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("g (float[a,b,c,d,e] x) => (y) { y = Relu(x) }", {}, "at most 4 can stay symbols"),
        ("g (float[a] x) => (y) { y = Relu(x) }", {"batch": 3}, "has no symbol 'batch'"),
        ("g (float[a] x) => (y) { y = Relu(z) }", {}, "reads 'z', which nothing before it makes"),
        ("g (float[a] x) => (y) { y = Relu(x) y = Tanh(x) }", {}, "two nodes make 'y'"),
        ("g (float[a] x) => (x) { }", {}, "has no operators"),
        ("g (float[9] x) => (y) { i = NonZero(x) y = Relu(i) }", {}, "the shapes of 'i' .* are unknown"),
        ("g (float[a] x) => (y) { y = Relu(x) }", {"a": -3}, "-3"),
    ],
    ids=lambda given: given[-30:] if isinstance(given, str) else "",
)
def test_refusals(text: str, sizes: dict[str, int | str], message: str, tmp_path: Path) -> None:
    """What cannot be meant is refused with the reason."""
    with pytest.raises(UsageError, match=message):
        from_onnx(written(text, tmp_path), sizes)
