"""Count what one ONNX operator costs: its kind, floating-point operations, and bytes that it moves.

As torch's FlopCounterMode does, only products are counted, a multiplication and an addition being two operations:
convolutions, products of matrices, attention, recurrent layers. What treats elements one by one (activations,
normalisation, pooling, sums) has no operations here; its cost is the traffic. Definitions: Operators.md of ONNX 1.23,
ContribOperators.md of ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mtpp_dsl.exchange.importers.onnx.shapes import Shape
from mtpp_dsl.exchange.importers.polynomials import Amount, product, whole_quotient


@dataclass(frozen=True)
class OnnxFormulaCall:
    """One operator with the shapes of what it reads and makes.

    Attributes:
        op: such as "Conv".
        attributes: numbers, texts and lists.
        ins, outs: shapes; None of what is left out or unknown.
    """

    op: str
    attributes: Mapping[str, Any]
    ins: Sequence[Shape | None]
    outs: Sequence[Shape | None]

    def read(self, number: int) -> Shape:
        """Return the shape of an input.

        Raises:
            LookupError: it is left out or unknown.
        """
        shape = self.ins[number]
        if shape is None:
            raise LookupError
        return shape

    def made(self, number: int = 0) -> Shape:
        """Return the shape of an output; raises as :meth:`read`."""
        shape = self.outs[number]
        if shape is None:
            raise LookupError
        return shape

    def whole(self, name: str, usual: int = 0) -> int:
        """Return an attribute that is a whole number."""
        attribute = self.attributes.get(name, usual)
        return attribute if isinstance(attribute, int) else usual


VIEWS = frozenset(("Identity", "Dropout", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Shape", "Size", "Optional"))
"""Other shapes of the same data, and shapes themselves: nothing is moved."""

_KINDS = {
    "matmul": "Gemm MatMul MatMulInteger QLinearMatMul Einsum MatMulNBits FusedMatMul FusedGemm",
    "conv": "Conv ConvTranspose ConvInteger QLinearConv DeformConv CausalConvWithState NhwcConv FusedConv",
    "attention": "Attention MultiHeadAttention GroupQueryAttention LinearAttention",
    "rnn": "RNN GRU LSTM",
    "norm": "BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization "
    "LpNormalization MeanVarianceNormalization LRN SkipLayerNormalization SkipSimplifiedLayerNormalization "
    "SimplifiedLayerNormalization GroupNorm",
    "softmax": "Softmax LogSoftmax Hardmax SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss",
    "elementwise": "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr "
    "BitwiseXor Cast CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Div DynamicQuantizeLinear Elu Equal Erf Exp "
    "Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min "
    "Mish Mod Mul Neg Not Or PRelu Pow QuantizeLinear Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
    "Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor BiasGelu FastGelu QuickGelu BiasAdd "
    "RotaryEmbedding QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu",
    "reduce": "ArgMax ArgMin CumProd CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
    "ReduceMin ReduceProd ReduceSum ReduceSumSquare",
    "pool": "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxRoiPool MaxUnpool RoiAlign "
    "QLinearAveragePool QLinearGlobalAveragePool",
    "index": "Gather GatherElements GatherND Scatter ScatterElements ScatterND TensorScatter Compress",
    "copy": "Concat Transpose Pad Split Slice Tile Expand DepthToSpace SpaceToDepth ReverseSequence CenterCropPad "
    "Trilu Col2Im QLinearConcat",
    "fill": "Constant ConstantOfShape EyeLike OneHot RandomNormal RandomNormalLike RandomUniform RandomUniformLike "
    "Range Bernoulli",
    "resize": "AffineGrid GridSample Resize Upsample",
    "sort": "NonMaxSuppression NonZero TopK Unique",
}
KIND_OF: Mapping[str, str] = {op: kind for kind, ops in _KINDS.items() for op in ops.split()}
"""The kind of each operator whose cost is known."""


def kind_of(op: str) -> str | None:
    """Return the kind of an operator; None where it is unknown what it does."""
    return "view" if op in VIEWS else KIND_OF.get(op)


def flop_of(call: OnnxFormulaCall) -> Amount | None:
    """Return the operations of one call; None where they cannot be counted.

    >>> flop_of(OnnxFormulaCall("Conv", {}, [(1, 3, 8, 8), (16, 3, 3, 3)], [(1, 16, 6, 6)]))
    31104
    """
    formula = _FORMULAS.get(call.op)
    if formula is None:
        return None if kind_of(call.op) in (None, "matmul", "conv", "attention", "rnn") else 0
    try:
        return formula(call)
    except LookupError:
        return None


def reads_rows(op: str) -> bool:
    """Return whether an operator reads no more of its first input than it makes."""
    return op in ("Gather", "GatherElements", "GatherND", "Slice", "Compress")


def _conv(weights: int) -> Callable[[OnnxFormulaCall], Amount]:
    """Return the formula of convolutions whose input of that number is the weights, [outputs, inputs / groups, ...]."""
    return lambda call: product([2, *call.made(), *call.read(weights)[1:]])


def _transposed(call: OnnxFormulaCall) -> Amount:
    """Each input value is multiplied with the weights, [inputs, outputs / groups, ...]."""
    return product([2, *call.read(0), *call.read(1)[1:]])


def _matmul(call: OnnxFormulaCall) -> Amount:
    return product([2, *call.made(), call.read(0)[-1]])


def _fused(call: OnnxFormulaCall) -> Amount:
    if call.whole("transBatchA") or call.whole("transBatchB"):
        raise LookupError
    return product([2, *call.made(), call.read(0)[-2 if call.whole("transA") else -1]])


def _gemm(call: OnnxFormulaCall) -> Amount:
    return product([2, *call.made(), call.read(0)[0 if call.whole("transA") else 1]])


def _n_bits(call: OnnxFormulaCall) -> Amount:
    return product([2, *call.made(), call.whole("K")])


def _einsum(call: OnnxFormulaCall) -> Amount:
    """Two operands: each combination of letters is one multiplication and addition, none where no letter is summed."""
    equation = call.attributes.get("equation", b"")
    text = (equation.decode("utf-8", "replace") if isinstance(equation, bytes) else str(equation)).replace(" ", "")
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    if "." in text or len(operands) > 2 or len(operands) != len(call.ins):
        raise LookupError
    sizes: dict[str, Amount] = {}
    for letters, number in zip(operands, range(len(operands)), strict=True):
        shape = call.read(number)
        if len(shape) != len(letters):
            raise LookupError
        for letter, size in zip(letters, shape, strict=True):
            if sizes.get(letter, 1) == 1:  # a size of 1 is spread
                sizes[letter] = size
    if not arrow:
        right = "".join(letter for letter in sizes if left.count(letter) == 1)
    summed = set(sizes) - set(right)
    return product([2, *sizes.values()]) if summed and len(operands) == 2 else 0


def _recurrent(gates: int) -> Callable[[OnnxFormulaCall], Amount]:
    """Return the formula of recurrent layers: for each step, direction and gate, two products of matrices."""

    def formula(call: OnnxFormulaCall) -> Amount:
        first, second, weights = call.read(0)[:2], call.read(1), call.read(2)
        hidden = weights[2]
        if second[0] not in (1, 2) or len(second) != 3:
            raise LookupError
        inputs = second[2]
        return product([2, *first, second[0], gates, hidden, inputs + hidden])

    return formula


def _attention(call: OnnxFormulaCall) -> Amount:
    """Scores and their product with the values: 2 * batch * heads * queries * keys * (size + size of values).

    The inputs are [batch, heads, length, size], or [batch, length, heads * size] with the numbers of heads given.
    Keys of the past (inputs 4 and 5) are read as well. All pairs are counted, causal or not, as torch counts them.
    """
    query, key, value = call.read(0), call.read(1), call.read(2)
    if len(query) == 4:
        batch, heads, queries, size = query
        kv_heads, keys, wide = key[1], key[2], value[3]
    else:
        heads, kv_heads = call.whole("q_num_heads"), call.whole("kv_num_heads")
        if heads < 1 or kv_heads < 1:
            raise LookupError
        (batch, queries), keys = query[:2], key[1]
        size, wide = whole_quotient(query[2], heads), whole_quotient(value[2], kv_heads)
    past = call.ins[4] if len(call.ins) > 4 else None
    keys = keys + past[2] if past is not None else keys
    return product([2, batch, heads, queries, keys, size + wide])


def _multi_head(call: OnnxFormulaCall) -> Amount:
    """MultiHeadAttention of ONNX Runtime: query [batch, length, hidden], key and value alike or by heads."""
    query, key, value = call.read(0), call.read(1), call.read(2)
    if len(query) != 3 or len(key) not in (3, 4):
        raise LookupError
    keys = key[1] if len(key) == 3 else key[2]
    past = call.ins[6] if len(call.ins) > 6 else None
    keys = keys + past[2] if past is not None else keys
    wide = value[2] if len(value) == 3 else product([value[1], value[3]])
    return product([2, *query[:2], keys, query[2] + wide])


def _grouped(call: OnnxFormulaCall) -> Amount:
    """GroupQueryAttention of ONNX Runtime with separate keys and values; the present keys are past and new ones."""
    query, present = call.read(0), call.made(1)
    return product([4, *query[:2], present[2], query[2]])


Formula: TypeAlias = Callable[[OnnxFormulaCall], Amount]
_FORMULAS: Mapping[str, Formula] = {
    "Conv": _conv(1),
    "ConvInteger": _conv(1),
    "FusedConv": _conv(1),
    "QLinearConv": _conv(3),
    "DeformConv": _conv(1),
    "ConvTranspose": _transposed,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "FusedMatMul": _fused,
    "Gemm": _gemm,
    "MatMulNBits": _n_bits,
    "Einsum": _einsum,
    "LSTM": _recurrent(4),
    "GRU": _recurrent(3),
    "RNN": _recurrent(1),
    "Attention": _attention,
    "MultiHeadAttention": _multi_head,
    "GroupQueryAttention": _grouped,
}
