"""TensorFlow's names that dualgrad has not: for each part of its API, why, and what to use instead.

A key is a name below ``tf.``, or the beginning of names (``"tpu"`` stands for ``tf.tpu.initialize_system`` too).
"""

from __future__ import annotations

from typing import Any, NoReturn

from dualgrad.frontend.rows import rows

ABSENT: dict[str, str] = {name: why for names, why in rows("""
estimator contrib.learn contrib.estimator python.estimator | estimators are out of scope: build the graph and call
 session.run in a loop of your own, or use keras
feature_column | feature columns belong to estimators, which are out of scope: compute features with NumPy
python.feature_column | feature columns belong to estimators, which are out of scope
python.tpu tpu contrib.tpu contrib.nccl contrib.staging distribute.TPUStrategy distribute.NcclAllReduce
 distribute.ReductionToOneDevice nn.rnn_cell.DeviceWrapper contrib.rnn.DeviceWrapper contrib.tensorrt | there is one
 device, the CPU of this machine: leave out what places work on others
contrib.cudnn_rnn | there is one device, the CPU of this machine: use nn.rnn_cell and nn.dynamic_rnn
distribute | one device of one machine is what there is: use distribute.MirroredStrategy, with one replica
contrib.distribute contrib.cluster_resolver distribute.Server distribute.ParameterServerStrategy
 distribute.experimental.ParameterServerStrategy distribute.coordinator config.experimental_connect_to_cluster
 config.experimental_connect_to_host train.ClusterSpec train.Server train.ServerDef train.ClusterDef
 train.replica_device_setter train.SyncReplicasOptimizer | training on several machines is out of scope: run the
 program as one process
experimental.dtensor | tensors laid out over several devices are out of scope: there is one, the CPU
keras.dtensor | removed from TensorFlow; there is one device, the CPU
train.AdagradDAOptimizer | dual averaging is out of scope: use train.FtrlOptimizer, which is sparse as well
train.ProximalAdagradOptimizer train.ProximalGradientDescentOptimizer | proximal steps are out of scope: use
 train.FtrlOptimizer, which shrinks by L1 and L2 as well
train.checkpoints_iterator | loops over checkpoints are out of scope: ask train.latest_checkpoint, and restore with
 train.Saver
contrib.training | nothing of it is here: use argparse.Namespace for HParams, and train.latest_checkpoint
contrib.layers.optimize_loss contrib.slim.optimize_loss | use an optimizer's compute_gradients, clip_by_global_norm and
 apply_gradients
distribute.cluster_resolver.UnionResolver | put all addresses into one SimpleClusterResolver
contrib.opt.LookaheadOptimizer | keep a copy of the variables, and assign to both every few steps
keras.export | use Model.export, or saved_model.save of a Module with a tf.function for each endpoint
histogram_fixed_width histogram_fixed_width_bins | use unsorted_segment_sum of the numbers of the bins
image.* | multiply the colors by a matrix: tensordot(images, matrix, 1) | rgb_to_yiq yiq_to_rgb rgb_to_yuv yuv_to_rgb
keras.layers.Hashing keras.layers.HashedCrossing | layers that hash are out of scope: use StringLookup,
 or strings.to_hash_bucket_fast before
keras.layers.Discretization | use searchsorted of the ends of bins before
keras.layers.CategoryEncoding | use one_hot, and reduce_sum of it along the words
keras.layers.* | vary images by functions of image, in Dataset.map: random_brightness, random_contrast, random_crop,
 crop_and_resize | RandomBrightness RandomContrast RandomCrop RandomZoom CenterCrop
keras.preprocessing.text | removed from Keras 3: use keras.layers.TextVectorization
keras.optimizers.Lion optimizers.Lion | out of scope, for want of use: write it as a subclass of
 keras.optimizers.Optimizer
nn.experimental | use nn.dropout, or random.stateless_uniform and where
nn.fixed_unigram_candidate_sampler random.fixed_unigram_candidate_sampler | draw classes with random.categorical
contrib.layers.summarize_* contrib.slim.layers.summarize_* contrib.slim.summarize_* | use summary.histogram | tensor
 tensors collection activations
keras.layers.ConvLSTM1D keras.layers.ConvLSTM2D keras.layers.ConvLSTM3D keras.layers.GroupQueryAttention
 keras.layers.RMSNormalization keras.layers.UnitNormalization keras.metrics.MeanIoU
 keras.layers.AlphaDropout keras.layers.ActivityRegularization keras.layers.SpectralNormalization keras.metrics.F1Score
 keras.metrics.FBetaScore keras.losses.Dice keras.losses.Tversky keras.losses.dice keras.losses.tversky
 keras.metrics.PrecisionAtRecall keras.metrics.R2Score keras.metrics.RecallAtPrecision
 keras.metrics.SensitivityAtSpecificity keras.metrics.SpecificityAtSensitivity | out of scope, for want of use: write
 it as a subclass
train.Supervisor | supervisors are out of scope: use train.MonitoredTrainingSession, or Session and Saver
contrib.training.HParams | hyperparameters are out of scope: use argparse.Namespace, or types.SimpleNamespace
contrib.seq2seq | beam search and attention are out of scope: decode with BasicDecoder, or write a while_loop
contrib.legacy_seq2seq nn.seq2seq | sequence-to-sequence decoders are out of scope: write the loop with nn.raw_rnn,
 while_loop or scan
contrib.crf | conditional random fields are out of scope: write the sum over paths with scan and reduce_logsumexp
metrics.*_at_k metrics.*_at_top_k | of ranks nothing is added up: use math.top_k or nn.in_top_k, and metrics.mean of
 the hits | precision recall average_precision sparse_precision sparse_average_precision
metrics.*_at_thresholds metrics.*_at_sensitivity metrics.*_at_specificity | use metrics.auc, or metrics.precision and
 metrics.recall of predictions above each threshold | precision recall true_positives false_positives true_negatives
 false_negatives sensitivity specificity
metrics.mean_* | use metrics.mean of what is computed for each element | relative_error cosine_distance tensor
contrib.metrics | use those of metrics, which take the labels first
metrics.percentage_below | use metrics.mean of less(values, threshold)
contrib.rnn | of cells there are those of nn.rnn_cell: put layers around them, and stack them with MultiRNNCell
contrib.slim.nets | ready-made networks are out of scope: build them with layers or contrib.slim
keras.models.load_model | in graphs: build the model by its own code, and keep variables with train.Saver
keras.applications | of ready-made networks tape_api has VGG, MobileNet, InceptionV3, Xception: build others
contrib.eager | graphs have none: use tape_api (`--api 2`), tf.Variable, tf.GradientTape, tf.keras.Model
nn.weighted_moments nn.sufficient_statistics nn.normalize_moments | use nn.moments, or reduce_sum of what counts with
 weights of your own
nn.log_poisson_loss | write exp(log_input) - log_input * targets, or use keras.losses.poisson
nn.relu_layer | use nn.relu of nn.xw_plus_b
nn.batch_norm_with_global_normalization | use nn.batch_normalization
nn.conv_transpose | use nn.conv1d_transpose, nn.conv2d_transpose or nn.conv3d_transpose
math.approx_max_k nn.approx_max_k | use math.top_k, which is exact and as fast here
math.approx_min_k nn.approx_min_k | use math.top_k of the negative numbers
math.reciprocal_no_nan | use math.divide_no_nan(1, x)
is_non_decreasing is_strictly_increasing math.is_non_decreasing math.is_strictly_increasing debugging.is_non_decreasing
 debugging.is_strictly_increasing | compare x[:-1] with x[1:] by less_equal or less, and take reduce_all
batch_gather | use gather with `batch_dims`
guarantee_const | there is nothing to promise: leave it out
is_symbolic_tensor | ask executing_eagerly(), or whether a tensor has `numpy`
assert_proper_iterable assert_same_float_dtype debugging.assert_proper_iterable debugging.assert_same_float_dtype |
 write the check in Python: isinstance, or a comparison of dtypes
linalg.tridiagonal_matmul linalg.banded_triangular_solve | of matrices of few diagonals there is
 linalg.tridiagonal_solve: multiply slices by diagonals
fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner | variables in parts are out of
 scope: leave out `partitioner`; savers read a checkpoint's parts as a whole
io.serialize_many_sparse io.deserialize_many_sparse serialize_many_sparse deserialize_many_sparse | write sparse
 tensors one by one with io.serialize_sparse, or as features of train.Example
sparse.to_indicator sparse_to_indicator | use scatter_nd, or one_hot and reduce_any
sparse.reset_shape sparse_reset_shape | make SparseTensor(x.indices, x.values, shape)
sparse.split sparse_split sparse.slice sparse_slice | use sparse.retain for each part
sparse.segment_* sparse_segment_* | gather rows, and use unsorted_segment_* | sum mean sqrt_n
sparse.reduce_* sparse_reduce_* | reduce the values by their rows with unsorted_segment_sum or _max | sum_sparse
 max_sparse max
sparse.* sparse_* | compute with the values, and what lies at their rows, by unsorted_segment_max and _sum; or with
 sparse.to_dense | maximum minimum fill_empty_rows
nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse | use unsorted_segment_sum of nn.embedding_lookup(params,
 ids.values), by ids.indices[:, 0]
nn.ctc_loss nn.ctc_loss_v2 nn.ctc_unique_labels nn.ctc_greedy_decoder nn.ctc_beam_search_decoder
 nn.ctc_beam_search_decoder_v2 keras.backend.ctc_batch_cost keras.backend.ctc_decode
 keras.backend.ctc_label_dense_to_sparse | connectionist temporal classification is out of scope: write the sum over
 paths with scan and reduce_logsumexp, and the best path with argmax
nn.collapse_repeated | out of scope: compare labels with those before by not_equal, and use boolean_mask
edit_distance | out of scope: count in Python, in py_function
image.non_max_suppression | choose boxes with NumPy, in py_function
op_scope variable_op_scope | use name_scope and variable_scope with `values`
no_regularizer | leave `regularizer` out
convert_to_tensor_or_indexed_slices | use convert_to_tensor, unless it is an IndexedSlices already
nest.flatten_dict_items nest.assert_shallow_structure | use nest.flatten_up_to
contrib.opt.*Optimizer | out of scope: use keras.optimizers, which take graphs' variables too, or
 train.ExponentialMovingAverage | Nadam AdaMax LazyAdam AdamW MomentumW LARS MovingAverage
image.image_gradients | subtract slices: image[:, 1:] - image[:, :-1]
sparse.map_values | use x.with_values(function(x.values))
graph_util.remove_training_nodes | import_graph_def leaves out nothing: use graph_util.extract_sub_graph
summary.tensor_summary | use summary.histogram or summary.text
train.LooperThread | use threading.Thread, and train.Coordinator to stop it
nn.static_bidirectional_rnn contrib.rnn.static_bidirectional_rnn | use nn.bidirectional_dynamic_rnn, or nn.static_rnn
 of the inputs and of the reversed inputs
distributions.StudentT distributions.Laplace distributions.Multinomial distributions.DirichletMultinomial
 contrib.distributions.StudentT contrib.distributions.Laplace contrib.distributions.Multinomial
 contrib.distributions.DirichletMultinomial | out of scope: write the logarithm of the density, or use scipy.stats,
 whose functions take tensors
keras.datasets.reuters keras.datasets.california_housing | read the file with numpy.load
contrib.bayesflow | removed before TensorFlow 1.15
contrib.lite lite | converting models for phones is out of scope
experimental.dlpack | there is no device memory to share: x.numpy() and tf.constant(array) do
lookup.experimental | tables that change are out of scope: use lookup.StaticHashTable, or a dict
lookup | in graphs, hash tables are out of scope: look words up with a dict before feeding
contrib.lookup | hash tables are out of scope: look words up with a dict before feeding
saved_model.save | exporting for TensorFlow Serving is out of scope: keep variables with train.Saver or
 train.Checkpoint
linalg.LinearOperator* | operators without their matrix are out of scope: use linalg.matvec, linalg.tridiagonal_solve
 and their like, or experimental.scipy.sparse.linalg.custom_linear_solve of a function that multiplies | Adjoint
 BlockDiag BlockLowerTriangular Circulant Circulant2D Circulant3D Composition Diag FullMatrix Householder Identity
 Inversion Kronecker LowRankUpdate LowerTriangular Permutation ScaledIdentity Toeplitz Tridiag Zeros
linalg.experimental.conjugate_gradient linalg.LinearOperator | operators without their matrix are out of scope: use
 linalg.matvec, linalg.tridiagonal_solve and their like, or experimental.scipy.sparse.linalg.custom_linear_solve of a
 function that multiplies
signal spectral | of signals there are Fourier transforms: the functions of scipy.fft, and dct among them, take tensors
nn.dilation2d nn.erosion2d | morphology is out of scope: reduce_max of image.extract_patches is a dilation, up to the
 filter
nn.fractional_max_pool nn.fractional_avg_pool | fractional pools are out of scope: use nn.max_pool, nn.avg_pool, or
 gather windows of your own
nn.with_space_to_batch required_space_to_batch_paddings | dilations by hand are out of scope: nn.convolution and
 space_to_batch_nd take what they need
nn.isotonic_regression | make a `primitive` of scipy.optimize.isotonic_regression
contrib.distributions | there are those of tf.distributions: write a density, or use scipy.stats
quantization contrib.quantize | quantized kernels are out of scope
audio contrib.ffmpeg | sound files are out of scope: read them with scipy.io.wavfile
load_op_library load_library | kernels compiled for TensorFlow do not run here: `primitive` makes an op of a NumPy
 function
raw_ops | raw ops are TensorFlow's own: use the function of the public API that calls the op
xla contrib.compiler | there is no compiler to choose: every run is optimized
profiler | TensorFlow's profiler is out of scope: use cProfile, or time.perf_counter around session.run
summary.trace_on summary.trace_export | TensorFlow's profiler is out of scope: use cProfile, or time.perf_counter
 around steps
data.experimental.make_csv_dataset | in graphs: read the file with NumPy or pandas, and use
 data.Dataset.from_tensor_slices
Session.partial_run Session.partial_run_setup | a run has one set of feeds: fetch what the first part computes with
 session.run, and feed those tensors, with what else there is, to a second session.run (any tensor can be fed)
ragged | little is done with ragged tensors: pad them (RaggedTensor.to_tensor), and mask with sequence_mask
""") for name in names.split()}  # fmt: skip
"""The reason for each."""


def reason(path: str) -> str | None:
    """Why a name below ``tf.`` is not here, and what to use instead; None if nothing is known.

    Parameters
    ----------
    path : str
        Such as ``"contrib.learn.DNNClassifier"``.

    Examples
    --------
    >>> reason("tpu.initialize_system")
    'there is one device, the CPU of this machine: leave out what places work on others'
    >>> reason("sin") is None
    True
    """
    parts = path.removeprefix("compat.v1.").split(".")
    beginnings = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((ABSENT[b] for b in beginnings if b in ABSENT), None)


class AbsentType:
    """A type of elements that TensorFlow has and NumPy has not: programs compare theirs with it, and it is never equal.

    Examples
    --------
    >>> import graph_api as tf
    >>> tf.zeros([2]).dtype == tf.bfloat16
    False
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def base_dtype(self) -> AbsentType:
        """The type itself."""
        return self

    def __repr__(self) -> str:
        return f"tf.{self.name}"


bfloat16, resource, variant = AbsentType("bfloat16"), AbsentType("resource"), AbsentType("variant")
qint8, qint16, qint32 = AbsentType("qint8"), AbsentType("qint16"), AbsentType("qint32")
quint8, quint16 = AbsentType("quint8"), AbsentType("quint16")


class Absent:
    """In place of a method that TensorFlow's class has: who reads it is told what to do instead, in an AttributeError.

    Examples
    --------
    >>> class Session:
    ...     partial_run = Absent()
    >>> hasattr(Session(), "partial_run")
    False
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        said = f"'{owner.__name__}' object has no attribute '{self.name}': {method_reason(owner, self.name)}"
        raise AttributeError(said, name=self.name, obj=instance)


def method_reason(kind: type, name: str) -> str | None:
    """The same for a method of a class, or of one that it inherits from."""
    return next((why for c in kind.__mro__ if (why := reason(f"{c.__name__}.{name}"))), None)
