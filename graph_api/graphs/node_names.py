"""Names of operations: which are valid, and what TensorFlow calls an operation that was given none."""

from __future__ import annotations

import re

from dualgrad.frontend.rows import pairs

_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def check_name(what: str, name: str, within: str) -> None:
    """Raise unless the name is one that TensorFlow allows: the first character of a whole name is narrower."""
    if not isinstance(name, str):
        raise TypeError(f"argument `name` must be a string, got {name!r}")
    if not _NAME.fullmatch(name.removesuffix("/")) or (not within and name[:1] in "_\\/>-"):
        raise ValueError(
            f"'{name}' is not a valid {what} name: it may consist of letters, digits and the characters _ . \\ / > -, "
            f"and must begin with a letter, a digit or a dot"
        )


# TensorFlow's default names of operations, where these are not their types
PLAIN_NAMES = {
    "AddV2": "Add", "ConcatV2": "concat", "GatherV2": "GatherV2", "Pack": "stack", "SelectV2": "SelectV2",
    "Split": "split", "SplitV": "split", "Unpack": "unstack", "RealDiv": "truediv", "Range": "range",
    "OneHot": "one_hot", "StridedSlice": "strided_slice", "Transpose": "transpose", "ZerosLike": "zeros_like",
    "OnesLike": "ones_like", "LogSumExp": "ReduceLogSumExp", "ClipByValue": "clip_by_value", "PadV2": "Pad",
    "FloorDiv": "floordiv", "BatchMatMulV2": "MatMul", "SparseMatMul": "MatMul", "BooleanMask": "boolean_mask",
}  # fmt: skip

OF_FUNCTIONS = pairs("""
boolean_mask=boolean_mask/GatherV2 clip_by_average_norm=clip_by_average_norm clip_by_norm=clip_by_norm div=div
einsum=einsum/Einsum eye=eye/diag fill=Fill global_norm=global_norm/global_norm
linalg.matrix_transpose=matrix_transpose/transpose linalg.tensor_diag_part=DiagPart linalg.trace=Trace
math.count_nonzero=count_nonzero/Sum math.divide_no_nan=div_no_nan math.in_top_k=in_top_k/InTopKV2
math.l2_normalize=l2_normalize math.reduce_std=reduce_std/Sqrt math.reduce_variance=reduce_variance/Mean_1
math.top_k=TopKV2 math.zero_fraction=zero_fraction/fraction nn.batch_normalization=batchnorm/add_1 nn.bias_add=BiasAdd
nn.conv1d=conv1d/Squeeze nn.conv2d_transpose=conv2d_transpose nn.crelu=CRelu nn.depthwise_conv2d=depthwise
nn.embedding_lookup=embedding_lookup/Identity nn.in_top_k=in_top_k/InTopKV2 nn.l2_loss=L2Loss
nn.l2_normalize=l2_normalize nn.lrn=LRN nn.moments=moments/Squeeze,moments/Squeeze_1
nn.separable_conv2d=separable_conv2d nn.sigmoid_cross_entropy_with_logits=logistic_loss
nn.softmax_cross_entropy_with_logits=softmax_cross_entropy_with_logits_sg/Reshape_2
nn.softmax_cross_entropy_with_logits_v2=softmax_cross_entropy_with_logits/Reshape_2
nn.sparse_softmax_cross_entropy_with_logits=SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits
nn.top_k=TopKV2 nn.weighted_cross_entropy_with_logits=logistic_loss nn.xw_plus_b=xw_plus_b
nn.zero_fraction=zero_fraction/fraction norm=norm/Squeeze one_hot=one_hot ones=ones range=range realdiv=RealDiv
sequence_mask=SequenceMask/Less slice=Slice tensordot=Tensordot to_double=ToDouble to_float=ToFloat to_int32=ToInt32
to_int64=ToInt64 zeros=zeros
""")
"""By public function: what TensorFlow 1 calls its results where the program gives no name. Programs look them up so."""
