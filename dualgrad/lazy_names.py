"""Names of engine functions that are loaded on first use, in both front ends; `graph_api.lazy_names` explains.

`BOTH` are the same in TensorFlow 1 and 2, `VERSION1` are TensorFlow 1's own, `VERSION2` those of TensorFlow 2.
"""

from __future__ import annotations

_STRINGS = (
    *("as_string", "join", "length", "lower", "regex_full_match", "regex_replace", "strip", "substr"),
    *("to_hash_bucket_fast", "to_number", "upper"),
)

SAMPLERS = ("log_uniform_candidate_sampler", "uniform_candidate_sampler", "fixed_unigram_candidate_sampler")

_DRAWS = (
    *("random_brightness", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_up_down"),
    *("random_hue", "random_saturation"),
)

_DRAWS_BY_SEED = tuple(f"stateless_{name}" for name in _DRAWS)

DTYPES: tuple[tuple[str, str], ...] = (
    (
        "engine.core.dtypes:",
        "DType as_dtype complex64 complex128 float16 float32 float64 int8 int16 int32 int64 string",
    ),
    ("engine.core.dtypes:", "uint8 uint16 uint32 uint64"),
    ("engine.core.dtypes:bool_", "bool"),
    ("engine.core.dtypes:float16", "half"),
    ("engine.core.dtypes:float64", "double"),
    ("dualgrad.frontend.absent:", "bfloat16 resource variant qint8 qint16 qint32 quint8 quint16"),
)

_INTERPOLANTS = (
    *("Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator"),
    *("RegularGridInterpolator", "interp1d", "interpn"),
)
_LINEAR = ("bicgstab", "cg", "custom_linear_solve", "gmres", "spsolve")
_IMPLICIT = (
    *("brentq", "custom_root", "fixed_point", "fsolve", "least_squares", "minimize", "newton", "root", "root_scalar"),
)

SCIPY: tuple[tuple[str, str], ...] = (
    ("dualgrad.solvers.ode:", "experimental.scipy.integrate.odeint experimental.scipy.integrate.solve_ivp"),
    (
        "dualgrad.solvers.quadrature:",
        " ".join(f"experimental.scipy.integrate.{name}" for name in ("quad", "quad_vec", "dblquad", "nquad")),
    ),
    ("dualgrad.solvers.implicit:", " ".join(f"experimental.scipy.optimize.{name}" for name in _IMPLICIT)),
    ("dualgrad.solvers.interpolation:", " ".join(f"experimental.scipy.interpolate.{name}" for name in _INTERPOLANTS)),
    ("dualgrad.solvers.linear:", " ".join(f"experimental.scipy.sparse.linalg.{name}" for name in _LINEAR)),
)

COMPARED = ("equal", "greater", "greater_equal", "less", "less_equal")
"""How two tensors are compared by assertions."""
_ASSERTED = ("integer", "rank_in", "scalar", "shapes", "type")

BOTH: tuple[tuple[str, str], ...] = (
    (
        "dualgrad.extras.python_types:",
        (
            "compat.as_bytes compat.as_text compat.as_str compat.as_str_any compat.path_to_str "
            "compat.integral_types compat.real_types compat.complex_types compat.bytes_or_text_types "
            "compat.forward_compatible"
        ),
    ),
    # ---- assertions
    ("dualgrad.extras.assertions:", " ".join(f"debugging.assert_{name}" for name in _ASSERTED)),
    # ---- images
    (
        "dualgrad.extras.ops.images:",
        (
            "image.convert_image_dtype image.crop_and_resize image.crop_to_bounding_box image.central_crop "
            "image.flip_left_right image.flip_up_down image.pad_to_bounding_box image.rot90"
        ),
    ),
    (
        "dualgrad.extras.ops.colors:",
        (
            "image.adjust_brightness image.adjust_contrast image.adjust_gamma image.adjust_hue image.adjust_saturation "
            "image.grayscale_to_rgb image.hsv_to_rgb image.per_image_standardization image.psnr image.rgb_to_grayscale "
            "image.rgb_to_hsv image.rgb_to_yiq image.rgb_to_yuv image.sobel_edges image.ssim image.total_variation "
            "image.yiq_to_rgb image.yuv_to_rgb"
        ),
    ),
    ("dualgrad.extras.ops.images:transpose_image", "image.transpose"),
    ("dualgrad.extras.image_draws:", " ".join(f"image.{name}" for name in (*_DRAWS, *_DRAWS_BY_SEED))),
    # ---- short functions
    ("dualgrad.extras.ops.compositions:", "math.confusion_matrix linalg.normalize linalg.matrix_rank math.polyval"),
    ("dualgrad.extras.ops.compositions:", "math.bincount scalar_mul math.scalar_mul saturate_cast"),
    (
        "dualgrad.extras.ops.compositions:",
        "vectorized_map nn.experimental.general_dropout nn.experimental.stateless_dropout",
    ),
    (
        "dualgrad.extras.ops.numbers:",
        ("unravel_index histogram_fixed_width histogram_fixed_width_bins"),
    ),
    ("engine.ops.matrix_roots:sqrtm", "matrix_square_root"),
    ("dualgrad.extras.ops.compositions:saturate_cast", "dtypes.saturate_cast"),
    (
        "dualgrad.extras.small_functions:",
        (
            "VariableSynchronization VariableAggregation get_logger timestamp "
            "type_spec_from_value image.non_max_suppression"
        ),
    ),
    # ---- serialized examples
    ("dualgrad.data.parsing:", "io.parse_single_example io.parse_example io.decode_raw io.FixedLenFeature"),
    ("dualgrad.data.parsing:", "io.FixedLenSequenceFeature io.VarLenFeature"),
    ("dualgrad.data.csv:", "io.decode_csv"),
    ("dualgrad.data.sequences:", "io.parse_single_sequence_example io.parse_sequence_example"),
    ("dualgrad.data.messages:", "io.parse_tensor io.serialize_tensor io.serialize_sparse"),
    ("dualgrad.sparse.sets:", "sets.difference sets.intersection sets.size sets.union"),
    # ---- files
    (
        "dualgrad.extras.ops.file_reading:",
        "io.read_file image.decode_png io.decode_png image.decode_jpeg io.decode_jpeg",
    ),
    ("dualgrad.extras.ops.file_reading:", "image.decode_image io.decode_image image.encode_png io.encode_png"),
    ("dualgrad.extras.ops.file_reading:", "image.encode_jpeg io.encode_jpeg"),
    # ---- NumPy's functions under TensorFlow's name for them
    ("dualgrad.extras.numpy_names", "experimental.numpy"),
    # ---- SciPy's solvers under SciPy's names for them
    *SCIPY,
    # ---- arrays in messages
    ("dualgrad.files.tensors:array_of", "make_ndarray"),
    ("dualgrad.files.tensors:as_tensor_proto", "make_tensor_proto"),
    # ---- strings
    ("dualgrad.extras.ops.strings:", " ".join(f"strings.{name}" for name in _STRINGS)),
    ("dualgrad.extras.ops.strings:", "as_string"),
    # ---- decompositions of any matrix
    ("engine.ops.lu:", "linalg.lu linalg.lu_solve linalg.lu_reconstruct linalg.lu_matrix_inverse"),
    ("engine.ops.eig:", "eig linalg.eig eigvals linalg.eigvals linalg.eigh_tridiagonal"),
    ("engine.ops.matrix_roots:", "linalg.sqrtm linalg.logm"),
    ("dualgrad.extras.ops.diagonals:", "linalg.tridiagonal_solve"),
    # ---- parts of networks
    ("dualgrad.extras.ops.affine:local_response_normalization", "nn.lrn nn.local_response_normalization"),
)
SCATTERS: tuple[tuple[str, str], ...] = (
    ("engine.ops.row_assignment:", "scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_sub"),
    ("engine.ops.row_assignment:", "scatter_update scatter_nd_add scatter_nd_sub scatter_nd_update"),
)
"""TensorFlow 1's assignments to rows of variables."""

VERSION1: tuple[tuple[str, str], ...] = (
    ("dualgrad.extras.ops.normalization:", "nn.fused_batch_norm"),
    ("dualgrad.extras.assertions:", " ".join(f"assert_{name}" for name in _ASSERTED if name != "shapes")),
    # ---- data of tutorials
    ("dualgrad.extras.mnist", "examples.tutorials.mnist.input_data contrib.learn.datasets.mnist"),
    ("dualgrad.extras.ops.compositions:", "confusion_matrix ensure_shape"),
    ("dualgrad.extras.ops.file_reading:", "read_file"),
    ("dualgrad.extras.ops.strings:", "regex_replace substr"),
    ("dualgrad.extras.ops.strings:to_number", "string_to_number"),
    ("dualgrad.extras.ops.strings:join", "string_join"),
    ("dualgrad.extras.ops.strings:strip", "string_strip"),
    ("dualgrad.extras.ops.strings:length", "string_length"),
    ("dualgrad.extras.ops.strings:reduce_join", "strings.reduce_join reduce_join"),
    ("dualgrad.extras.ops.affine:", "nn.xw_plus_b"),
    (
        "dualgrad.extras.ops.resize:",
        (
            "image.resize_area image.resize_bicubic image.resize_bilinear image.resize_images "
            "image.resize_nearest_neighbor"
        ),
    ),
    ("dualgrad.extras.ops.resize:resize_images", "image.resize"),
    ("dualgrad.extras.ops.images:", "image.resize_image_with_pad image.transpose_image"),
    (
        "dualgrad.extras.ops.images:resize_with_crop_or_pad",
        "image.resize_image_with_crop_or_pad image.resize_with_crop_or_pad",
    ),
    ("dualgrad.frontend.methods:ResizeMethodVersion1", "image.ResizeMethod"),
)
VERSION2: tuple[tuple[str, str], ...] = (
    ("dualgrad.extras.ops.strings:", "strings.reduce_join"),
    ("dualgrad.extras.ops.compositions:", "nn.compute_average_loss nn.scale_regularization_loss"),
    ("dualgrad.extras.ops.resize:", "image.resize"),
    ("dualgrad.extras.ops.images:", "image.resize_with_crop_or_pad image.resize_with_pad"),
    ("dualgrad.frontend.methods:", "image.ResizeMethod"),
)
