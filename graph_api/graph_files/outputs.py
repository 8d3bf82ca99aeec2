"""The names of the outputs of TensorFlow's ops, by which the nodes of functions refer to one another.

In a graph an output is a node's name and a number, in a function the number is one within a name: ``"node:values:0"``.
"""

from __future__ import annotations

from collections.abc import Sequence

_TABLE = """
activations: Elu LeakyRelu Relu Relu6 Selu Softplus Softsign
backprops: EluGrad LeakyReluGrad Relu6Grad ReluGrad SeluGrad SoftplusGrad SoftsignGrad
band: MatrixBandPart
bins: Bincount
diagonal: DiagPart MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3
flow_out: TensorArrayScatterV3 TensorArrayWriteV3
handle: TensorListReserve
index: Where
is_initialized: IsVariableInitialized VarIsInitializedOp
item: TensorListGetItem
length: TensorListLength
logsoftmax: LogSoftmax
merged: DynamicStitch ParallelDynamicStitch
offset: ConcatOffset
out: Complex Cumprod Cumsum
output: All Angle Any ArgMax ArgMin AvgPool AvgPool3D AvgPoolGrad BatchCholesky BatchMatMul BatchMatMulV2
  BatchMatMulV3 BatchMatrixTriangularSolve BatchToSpaceND BiasAdd BiasAddGrad BiasAddV1 BroadcastTo
  CheckNumerics Cholesky ClipByValue Concat ConcatV2 Conj Const Conv2D Conv2DBackpropFilter Conv2DBackpropInput
  Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 DepthToSpace DepthwiseConv2dNative
  DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag Einsum Empty EnsureShape Enter
  EuclideanNorm Exit ExpandDims FFT FFT2D FFT3D Fill Gather GatherNd GatherV2 IFFT IFFT2D IFFT3D IRFFT IRFFT2D
  IRFFT3D Identity IdentityN If Imag L2Loss LRN LRNGrad LinSpace LoopCond MatrixDeterminant MatrixDiag
  MatrixDiagV2 MatrixDiagV3 MatrixExponential MatrixInverse MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3
  MatrixSolve MatrixTriangularSolve Max MaxPool MaxPool3D MaxPoolGrad MaxPoolV2 Mean Min MirrorPad MirrorPadGrad
  Multinomial NextIteration OneHot Pack Pad PadV2 ParallelConcat PartitionedCall Placeholder PlaceholderV2
  PlaceholderWithDefault PreventGradient Print Prod RFFT RFFT2D RFFT3D RandomGamma RandomPoissonV2 RandomShuffle
  RandomStandardNormal RandomUniform RandomUniformInt Range Rank Real RefEnter RefExit RefIdentity
  RefNextIteration Reshape ResizeBicubicGrad ResizeBilinearGrad ResizeNearestNeighborGrad ResourceGather
  ResourceGatherNd ReverseSequence ReverseV2 Roll ScatterNd SegmentMax SegmentMean SegmentMin SegmentProd
  SegmentSum Select SelectV2 Shape ShapeN Size Slice Snapshot SpaceToBatchND SpaceToDepth Split SplitV Squeeze
  StatefulPartitionedCall StatelessIf StatelessRandomUniformFullIntV2 StatelessWhile StopGradient StridedSlice
  StridedSliceGrad Sum TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate
  Tile TruncatedNormal Unpack UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
  VariableShape While
output_handle: TensorListFromTensor TensorListSetItem
output_ref: Assign AssignAdd AssignSub ScatterAdd ScatterDiv ScatterMul ScatterSub ScatterUpdate
outputs: DynamicPartition
patches: ExtractImagePatches
precision: InTopK InTopKV2
product: Cross MatMul
r0: BroadcastArgs
ref: Variable VariableV2
resized_images: ResizeArea ResizeBicubic ResizeBilinear ResizeNearestNeighbor
resource: VarHandleOp
size: TensorArraySizeV3
softmax: Softmax
sum: AccumulateNV2 AddN
summary: HistogramSummary ImageSummary MergeSummary ScalarSummary
tensor: ImmutableConst TensorListStack
tensors: RestoreV2
value: ReadVariableOp TensorArrayGatherV3 TensorArrayReadV3
y: Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 BesselI1e Cast Ceil ComplexAbs Cos Cosh
  Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv Invert InvertPermutation IsFinite IsInf IsNan Lgamma Log Log1p
  LogicalNot Ndtri Neg OnesLike Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh Transpose
  ZerosLike
z: Add AddV2 Atan2 Betainc BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan Equal FloorDiv FloorMod Greater
  GreaterEqual Igamma Igammac InvGrad Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan
  NotEqual Polygamma Pow RealDiv ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad SquaredDifference Sub TanhGrad
  TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta
e v: Eig SelfAdjointEigV2
handle flow: TensorArrayV3
key counter: StatelessRandomGetKeyCounter
loss backprop: SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
output argmax: MaxPoolWithArgmax
output value_index: Merge
output_false output_true: Switch
q r: Qr
r0 r1: BroadcastGradientArgs
sign log_abs_determinant: LogMatrixDeterminant
value lengths: TensorArrayConcatV3
values indices: TopK TopKV2
y idx: Unique
s u v: BatchSvd Svd
y idx count: UniqueWithCounts
x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4: FusedBatchNormGrad
  FusedBatchNormGradV2
x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5: FusedBatchNormGradV3
y batch_mean batch_variance reserve_space_1 reserve_space_2: FusedBatchNorm FusedBatchNormV2
y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3: FusedBatchNormV3
"""
"""Names: types. A line that begins with a space goes on with the one before it."""

_NAMES: dict[str, tuple[str, ...]] = {}
for _line in _TABLE.replace("\n  ", " ").strip().splitlines():
    _outputs, _, _types = _line.partition(": ")
    _NAMES.update(dict.fromkeys(_types.split(), tuple(_outputs.split())))


def output_names(op: str) -> Sequence[str]:
    """The names of an op's outputs. Several values of one name are a list. Empty for an op that is not known."""
    return _NAMES.get(op, ())


def reference(node: str, op: str, number: int) -> str:
    """How the nodes of a function refer to an output of a node."""
    names = output_names(op) or ("output",)
    return f"{node}:{names[0]}:{number}" if len(names) == 1 else f"{node}:{names[number]}:0"
