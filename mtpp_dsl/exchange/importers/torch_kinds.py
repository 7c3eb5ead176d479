"""Say what the operations of torch are: their kinds, and the names of its types of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mtpp_dsl.exchange.importers.torch_scans import NAMESPACE, SCAN_KINDS

__all__ = ["GATHERS", "UNREAD", "WRITES_PART", "dtype_name", "kind_of", "operation"]

_KINDS = {
    "matmul": """
        linear matmul mm bmm addmm baddbmm addbmm addmv mv dot vdot einsum bilinear tensordot inner outer ger
        addr grouped_mm scaled_mm scaled_grouped_mm int_mm chain_matmul linalg_multi_dot kron weight_int8pack_mm
        weight_int4pack_mm
    """,
    "conv": """
        conv1d conv2d conv3d convolution conv_transpose1d conv_transpose2d conv_transpose3d conv_depthwise2d
        slow_conv3d
    """,
    "attention": """
        scaled_dot_product_attention scaled_dot_product_flash_attention flash_attention_forward
        scaled_dot_product_flash_attention_for_cpu scaled_dot_product_efficient_attention
        scaled_dot_product_cudnn_attention efficient_attention_forward flex_attention
    """,
    "rnn": "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell",
    "norm": """
        layer_norm native_layer_norm group_norm native_group_norm rms_norm fused_rms_norm batch_norm
        native_batch_norm native_batch_norm_legit native_batch_norm_legit_no_training batch_norm_impl_index
        instance_norm norm linalg_vector_norm cudnn_batch_norm weight_norm local_response_norm cosine_similarity
        pairwise_distance renorm native_batch_norm_legit_functional weight_norm_interface batch_norm_no_update
        batch_norm_with_update batch_norm_with_update_functional miopen_batch_norm
    """,
    "softmax": "softmax log_softmax safe_softmax logsumexp",
    "reduce": """
        sum mean amax amin max min argmax argmin prod std var var_mean std_mean all any cumsum cumprod cummax
        cummin logcumsumexp median nansum count_nonzero nll_loss nll_loss_nd nll_loss_forward cross_entropy_loss
        mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div
        aminmax histc bincount diff trace cross dist embedding_bag equal nanmedian mode margin_ranking_loss
        hinge_embedding_loss nll_loss2d_forward foreach_norm
    """,
    "pool": """
        max_pool1d max_pool2d max_pool3d max_pool2d_with_indices avg_pool1d avg_pool2d avg_pool3d
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        mean_pool adaptive_max_pool3d fractional_max_pool2d max_pool3d_with_indices max_unpool2d max_unpool3d
    """,
    "embedding": "embedding",
    "index": """
        index index_select gather take take_along_dim scatter scatter_add index_put index_copy index_add
        index_fill masked_select masked_scatter nonzero scatter_reduce select_scatter slice_scatter
        diagonal_scatter tril triu searchsorted bucketize index_reduce put unsafe_index unsafe_index_put
        nonzero_static nonzero_numpy unsafe_masked_index unsafe_masked_index_put_accumulate as_strided_scatter
    """,
    "copy": """
        cat concat stack hstack vstack clone contiguous to_copy to copy repeat repeat_interleave pad
        constant_pad_nd flip roll reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d tile
        rot90 channel_shuffle pixel_shuffle pixel_unshuffle unfold im2col col2im meshgrid cartesian_prod reshape
        flatten block_diag one_hot fold lift_fresh_copy unsafe_view as_strided_copy alias_copy broadcast_tensors
        chunk_cat diag diag_embed diagonal_copy expand_copy narrow_copy permute_copy pin_memory reflection_pad3d
        replication_pad3d reshape_copy resize split_with_sizes_copy squeeze_copy t_copy transpose_copy
        unbind_copy unfold_copy unsqueeze_copy view_copy unsafe_chunk unsafe_split unsafe_split_with_sizes lift
        to_dense pad_sequence detach
    """,
    "fill": """
        arange zeros ones full zeros_like ones_like full_like empty empty_like new_zeros new_ones new_full
        new_empty eye linspace logspace scalar_tensor empty_strided new_empty_strided tril_indices triu_indices
        rand randn randint rand_like randn_like bernoulli multinomial normal fill zero empty_permuted randperm
        uniform exponential cauchy geometric randint_like poisson log_normal hann_window
    """,
    "resize": """
        upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_bicubic2d
        upsample_linear1d upsample_trilinear3d interpolate grid_sampler grid_sampler_2d affine_grid_generator
        grid_sampler_3d upsample_nearest_exact1d upsample_nearest_exact2d upsample_nearest_exact3d
        upsample_bilinear2d_aa upsample_bicubic2d_aa
    """,
    "sort": "sort topk argsort kthvalue unique msort unique2 unique_dim unique_consecutive",
    "elementwise": """
        dropout native_dropout feature_dropout alpha_dropout relu relu6 gelu silu mish hardswish hardsigmoid
        hardtanh leaky_relu elu selu celu softplus softsign tanhshrink threshold prelu rrelu log_sigmoid
        logsigmoid glu sigmoid tanh erf exp log pow sqrt rsqrt abs neg sign clamp clip lerp addcmul addcdiv
        bitwise_not logical_not isnan isinf isin float_power fake_quantize_per_tensor_affine isfinite square
        where masked_fill type_as float half bfloat16 complex polar view_as_complex_copy conj_physical
        nan_to_num and or xor not rsub absolute arccos arccosh arcsin arcsinh arctan arctan2 arctanh copysign
        divide eq fix floor_divide fused_dropout gcd ge greater greater_equal gt heaviside iand ior irshift lcm
        le less less_equal lt masked_scale multiply ne negative not_equal prelu_kernel rrelu_with_noise
        soft_margin_loss subtract true_divide xlogy add_relu quantize_per_tensor log_sigmoid_forward remainder
        fmod
    """,
}
KIND: Mapping[str, str] = MappingProxyType({name: kind for kind, names in _KINDS.items() for name in names.split()})
"""The kind of an operation by its name in aten, without underscores around it. What is pointwise need not be here."""

GATHERS = frozenset(
    ("embedding", "index_select", "gather", "take", "take_along_dim", "index", "unsafe_index", "last_tokens")
)
"""Operations that read of their first tensor no more than they write."""
WRITES_PART = frozenset(("index_put", "index_copy", "scatter", "slice_scatter", "select_scatter", "index_add"))
"""Operations that, run in place, touch of what they change no more than what is put there."""
UNREAD = frozenset(
    ("copy", "fill", "zero", "empty_like", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones")
)
UNREAD |= {"new_full", "new_empty", "rand_like", "randn_like", "new_empty_strided", "uniform", "normal"}
"""Operations that do not read their first tensor, only its shape or its place."""

_TYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "float8_e4m3fnuz": "fp8",
    "float8_e5m2fnuz": "fp8",
    "float8_e8m0fnu": "fp8",
    "float4_e2m1fn_x2": "uint8",
}


def dtype_name(dtype: Any) -> str:
    """Return our name of a type of torch: "bf16" for ``torch.bfloat16``."""
    name = str(dtype).removeprefix("torch.")
    return _TYPES.get(name, name)


SAME = {"grouped_mm_fallback": "grouped_mm"}
"""Operations of transformers that do what one of torch does, where torch has none: of products by experts in fp32."""


def operation(target: Any) -> str:
    """Return the name of an operation without underscores around it and, if it is run in place, behind it."""
    packet = getattr(target, "overloadpacket", target)
    name = str(getattr(packet, "__name__", packet)).strip("_")
    return SAME.get(name, name)


def kind_of(target: Any) -> str:
    """Return the kind of an operation, of :data:`mtpp_dsl.exchange.model.kinds.KINDS`; "other" where it is unknown."""
    name = operation(target)
    if getattr(target, "namespace", "") == NAMESPACE:
        return SCAN_KINDS[name]
    if getattr(target, "namespace", "") not in ("aten", "prims", "higher_order") and name not in SAME.values():
        return "other"
    if name in KIND:
        return KIND[name]
    tags = {str(tag).rpartition(".")[2] for tag in getattr(target, "tags", ())}
    if "pointwise" in tags:
        return "elementwise"
    if "reduction" in tags:
        return "reduce"
    return "view" if is_view(target) else "other"


def is_view(target: Any) -> bool:
    """Return whether what an operation gives may be the data that it was given, unchanged."""
    schema = getattr(target, "_schema", None)
    if schema is None or schema.is_mutable:
        return False
    return any(given.alias_info is not None for given in schema.returns)
