"""Names of engine functions that are loaded when they are first used, in both front ends; `graph_api.later` explains.

`BOTH` are the same in TensorFlow 1 and 2, `VERSION1` are TensorFlow 1's own, `VERSION2` those of TensorFlow 2.
"""

from __future__ import annotations

_STRINGS = (
    *("as_string", "join", "length", "lower", "regex_full_match", "regex_replace", "strip", "substr"),
    *("to_number", "upper"),
)

_DRAWS = (
    *("random_brightness", "random_contrast", "random_crop", "random_flip_left_right", "random_flip_up_down"),
    *("random_hue", "random_saturation"),
)

BOTH: tuple[tuple[str, str], ...] = (
    # ---- images
    (
        "engine.ops.images:",
        (
            "image.convert_image_dtype image.crop_and_resize image.crop_to_bounding_box image.central_crop "
            "image.flip_left_right image.flip_up_down image.image_gradients image.pad_to_bounding_box image.rot90"
        ),
    ),
    (
        "engine.ops.colors:",
        (
            "image.adjust_brightness image.adjust_contrast image.adjust_gamma image.adjust_hue image.adjust_saturation "
            "image.grayscale_to_rgb image.hsv_to_rgb image.per_image_standardization image.psnr image.rgb_to_grayscale "
            "image.rgb_to_hsv image.rgb_to_yiq image.rgb_to_yuv image.sobel_edges image.ssim image.total_variation "
            "image.yiq_to_rgb image.yuv_to_rgb"
        ),
    ),
    ("engine.ops.images:transpose_image", "image.transpose"),
    ("engine.frontend.image_draws:", " ".join(f"image.{name}" for name in _DRAWS)),
    # ---- short functions
    ("engine.ops.compositions:", "math.confusion_matrix linalg.normalize linalg.matrix_rank math.polyval"),
    ("engine.ops.compositions:", "scalar_mul math.scalar_mul"),
    # ---- serialised examples
    ("engine.frontend.data.parsing:", "io.parse_single_example io.parse_example io.decode_raw io.FixedLenFeature"),
    ("engine.frontend.data.parsing:", "io.FixedLenSequenceFeature io.VarLenFeature"),
    ("engine.frontend.data.csv:", "io.decode_csv"),
    # ---- files
    ("engine.ops.files:", "io.read_file image.decode_png io.decode_png image.decode_jpeg io.decode_jpeg"),
    ("engine.ops.files:", "image.decode_image io.decode_image image.encode_png io.encode_png"),
    # ---- arrays in messages
    ("engine.io.tensors:array_of", "make_ndarray"),
    ("engine.io.tensors:as_tensor_proto", "make_tensor_proto"),
    # ---- strings
    ("engine.ops.strings:", " ".join(f"strings.{name}" for name in _STRINGS)),
    ("engine.ops.strings:", "as_string"),
    # ---- decompositions of any matrix
    ("engine.ops.lu:", "linalg.lu linalg.lu_solve linalg.lu_reconstruct linalg.lu_matrix_inverse"),
    ("engine.ops.eig:", "eig linalg.eig eigvals linalg.eigvals linalg.eigh_tridiagonal"),
    # ---- parts of networks
    ("engine.ops.affine:", "nn.log_poisson_loss nn.normalize_moments"),
    ("engine.ops.affine:local_response_normalization", "nn.lrn nn.local_response_normalization"),
)
VERSION1: tuple[tuple[str, str], ...] = (
    ("engine.ops.compositions:", "confusion_matrix ensure_shape"),
    ("engine.ops.files:", "read_file"),
    ("engine.ops.strings:", "regex_replace substr"),
    ("engine.ops.strings:to_number", "string_to_number"),
    ("engine.ops.strings:join", "string_join"),
    ("engine.ops.strings:strip", "string_strip"),
    ("engine.ops.strings:length", "string_length"),
    ("engine.ops.strings:reduce_join", "strings.reduce_join reduce_join"),
    ("engine.ops.affine:", "nn.relu_layer nn.xw_plus_b"),
    ("engine.ops.affine:old_weighted_moments", "nn.weighted_moments"),
    ("engine.ops.affine:old_sufficient_statistics", "nn.sufficient_statistics"),
    (
        "engine.ops.resize:",
        (
            "image.resize_area image.resize_bicubic image.resize_bilinear image.resize_images "
            "image.resize_nearest_neighbor"
        ),
    ),
    ("engine.ops.resize:resize_images", "image.resize"),
    ("engine.ops.images:", "image.resize_image_with_pad image.transpose_image"),
    ("engine.ops.images:resize_with_crop_or_pad", "image.resize_image_with_crop_or_pad image.resize_with_crop_or_pad"),
    ("engine.frontend.methods:ResizeMethodVersion1", "image.ResizeMethod"),
)
VERSION2: tuple[tuple[str, str], ...] = (
    ("engine.ops.strings:", "strings.reduce_join"),
    ("engine.ops.compositions:", "nn.compute_average_loss nn.scale_regularization_loss"),
    ("engine.ops.affine:", "nn.sufficient_statistics nn.weighted_moments"),
    ("engine.ops.resize:", "image.resize"),
    ("engine.ops.images:", "image.resize_with_crop_or_pad image.resize_with_pad"),
    ("engine.frontend.methods:", "image.ResizeMethod"),
)
