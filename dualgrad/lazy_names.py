"""Names of engine functions that are loaded on first use, in both front ends; `dualgrad.frontend.rows` explains.

`BOTH` are the same in TensorFlow 1 and 2, `VERSION1` are TensorFlow 1's own, `VERSION2` those of TensorFlow 2.
"""

from __future__ import annotations

from dualgrad.frontend.rows import rows

DTYPES = rows("""
engine.core.dtypes: | DType as_dtype complex64 complex128 float16 float32 float64 int8 int16 int32 int64 string uint8
 uint16 uint32 uint64
engine.core.dtypes:bool_ | bool
engine.core.dtypes:float16 | half
engine.core.dtypes:float64 | double
dualgrad.frontend.absent: | bfloat16 resource variant qint8 qint16 qint32 quint8 quint16
""")

BOTH = rows("""
dualgrad.extras.python_types: | compat.* | as_bytes as_text as_str as_str_any path_to_str integral_types real_types
 complex_types bytes_or_text_types forward_compatible
# ---- assertions
dualgrad.extras.assertions: | debugging.* | assert_integer assert_rank_in assert_scalar assert_shapes assert_type
# ---- images
dualgrad.extras.ops.images: | image.* | convert_image_dtype crop_and_resize crop_to_bounding_box central_crop
 flip_left_right flip_up_down pad_to_bounding_box rot90
dualgrad.extras.ops.colors: | image.* | adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation
 grayscale_to_rgb hsv_to_rgb per_image_standardization psnr rgb_to_grayscale rgb_to_hsv sobel_edges ssim
 total_variation
dualgrad.extras.ops.images:transpose_image | image.transpose
dualgrad.extras.image_draws: | image.* | random_brightness random_contrast random_crop random_flip_left_right
 random_flip_up_down random_hue random_saturation stateless_random_brightness stateless_random_contrast
 stateless_random_crop stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue
 stateless_random_saturation
# ---- short functions
dualgrad.extras.ops.compositions: | scalar_mul math.scalar_mul saturate_cast unravel_index vectorized_map
dualgrad.extras.ops.compositions: | math.* | confusion_matrix polyval bincount
dualgrad.extras.ops.compositions: | linalg.* | normalize matrix_rank
engine.ops.matrix_roots:sqrtm | matrix_square_root
dualgrad.extras.ops.compositions:saturate_cast | dtypes.saturate_cast
dualgrad.extras.small_functions: | VariableSynchronization VariableAggregation get_logger timestamp
 type_spec_from_value
# ---- serialized examples
dualgrad.data.parsing: | io.* | parse_single_example parse_example decode_raw FixedLenFeature FixedLenSequenceFeature
 VarLenFeature
dualgrad.data.csv: | io.decode_csv
dualgrad.data.sequences: | io.* | parse_single_sequence_example parse_sequence_example
dualgrad.data.messages: | io.* | parse_tensor serialize_tensor serialize_sparse
dualgrad.sparse.sets: | sets.* | difference intersection size union
# ---- files
dualgrad.extras.ops.file_reading: | io.read_file
dualgrad.extras.ops.file_reading: | image.* io.* | decode_png decode_jpeg decode_image encode_png encode_jpeg
# ---- NumPy's functions under TensorFlow's name for them
dualgrad.extras.numpy_names | experimental.numpy
# ---- arrays in messages
dualgrad.files.tensors:array_of | make_ndarray
dualgrad.files.tensors:as_tensor_proto | make_tensor_proto
# ---- strings
dualgrad.extras.ops.strings: | strings.as_string as_string
dualgrad.extras.ops.strings: | strings.* | join length lower reduce_join regex_full_match regex_replace strip substr
 to_hash_bucket_fast to_number upper
# ---- decompositions of any matrix
engine.ops.lu: | linalg.* | lu lu_solve lu_reconstruct lu_matrix_inverse
engine.ops.eig: | linalg.eigh_tridiagonal
engine.ops.eig: | * linalg.* | eig eigvals
engine.ops.matrix_roots: | linalg.* | sqrtm logm
dualgrad.extras.ops.diagonals: | linalg.tridiagonal_solve
# ---- parts of networks
dualgrad.extras.ops.affine:local_response_normalization | nn.lrn nn.local_response_normalization
# ---- files, devices
dualgrad.platform.gfile: | io.gfile.* | exists isdir listdir makedirs mkdir glob GFile remove rename rmtree copy stat
 walk join
dualgrad.platform.config: | config.* | PhysicalDevice LogicalDevice LogicalDeviceConfiguration
 set_logical_device_configuration run_functions_eagerly functions_run_eagerly experimental_run_functions_eagerly
 experimental_functions_run_eagerly set_soft_device_placement get_soft_device_placement
dualgrad.platform.config: | config.* config.experimental.* | list_physical_devices list_logical_devices
 get_visible_devices set_visible_devices
dualgrad.platform.config: | config.experimental.* | VirtualDeviceConfiguration set_memory_growth get_memory_growth
 set_virtual_device_configuration enable_op_determinism enable_tensor_float_32_execution
 tensor_float_32_execution_enabled
dualgrad.platform.config: | config.threading.* | set_intra_op_parallelism_threads get_intra_op_parallelism_threads
 set_inter_op_parallelism_threads get_inter_op_parallelism_threads
dualgrad.platform.config: | config.optimizer.* | set_jit get_jit
# ---- SciPy's solvers under SciPy's names for them
dualgrad.solvers.ode: | experimental.scipy.integrate.* | odeint solve_ivp
dualgrad.solvers.quadrature: | experimental.scipy.integrate.* | quad quad_vec dblquad nquad
dualgrad.solvers.implicit: | experimental.scipy.optimize.* | brentq custom_root fixed_point fsolve least_squares
 minimize newton root root_scalar
dualgrad.solvers.interpolation: | experimental.scipy.interpolate.* | Akima1DInterpolator CubicHermiteSpline CubicSpline
 PPoly PchipInterpolator RegularGridInterpolator interp1d interpn
dualgrad.solvers.linear: | experimental.scipy.sparse.linalg.* | bicgstab cg custom_linear_solve gmres spsolve
""")

SCATTERS = rows("""
engine.ops.row_assignment: | scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_sub scatter_update
 scatter_nd_add scatter_nd_sub scatter_nd_update
""")
"""TensorFlow 1's assignments to rows of variables."""

VERSION1 = rows("""
dualgrad.extras.ops.normalization: | nn.fused_batch_norm
dualgrad.extras.assertions: | assert_integer assert_rank_in assert_scalar assert_type
# ---- data of tutorials
dualgrad.extras.mnist | examples.tutorials.mnist.input_data contrib.learn.datasets.mnist
dualgrad.extras.ops.compositions: | confusion_matrix ensure_shape
dualgrad.extras.ops.file_reading: | read_file
dualgrad.extras.ops.strings: | regex_replace substr
dualgrad.extras.ops.strings:* | string_* | to_number join strip length
dualgrad.extras.ops.strings: | reduce_join
dualgrad.extras.ops.affine: | nn.xw_plus_b
dualgrad.extras.ops.resize: | image.* | resize_area resize_bicubic resize_bilinear resize_images
 resize_nearest_neighbor
dualgrad.extras.ops.resize:resize_images | image.resize
dualgrad.extras.ops.images: | image.* | resize_image_with_pad transpose_image
dualgrad.extras.ops.images:resize_with_crop_or_pad | image.resize_image_with_crop_or_pad image.resize_with_crop_or_pad
dualgrad.frontend.methods:ResizeMethodVersion1 | image.ResizeMethod
# ---- flags, programs' mains, files
dualgrad.platform.app: | app.run
dualgrad.platform.flags | flags app.flags
dualgrad.platform.logging | logging
dualgrad.platform.gfile: | gfile.* | GFile Open FastGFile Exists IsDirectory ListDirectory MakeDirs MkDir Glob Remove
 DeleteRecursively Copy Rename Stat Walk
""")

VERSION2 = rows("""
dualgrad.extras.ops.compositions: | nn.* | compute_average_loss scale_regularization_loss
dualgrad.extras.ops.resize: | image.resize
dualgrad.extras.ops.images: | image.* | resize_with_crop_or_pad resize_with_pad
dualgrad.frontend.methods: | image.ResizeMethod
""")
