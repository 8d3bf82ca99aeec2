"""Types of `tape_api`. Made by ``python -m tests.stubs``; a test fails when this is stale."""

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from dualgrad.data.parsing import FixedLenFeature as _dualgrad_data_parsing_FixedLenFeature
from dualgrad.data.parsing import FixedLenSequenceFeature as _dualgrad_data_parsing_FixedLenSequenceFeature
from dualgrad.data.parsing import VarLenFeature as _dualgrad_data_parsing_VarLenFeature
from dualgrad.extras import numpy_names as _dualgrad_extras_numpy_names
from dualgrad.extras.module import Module as Module
from dualgrad.files.checkpoints import CheckpointReader as _dualgrad_files_checkpoints_CheckpointReader
from dualgrad.files.checkpoints import exists as _dualgrad_files_checkpoints_exists
from dualgrad.files.checkpoints import get_state as _dualgrad_files_checkpoints_get_state
from dualgrad.files.checkpoints import latest as _dualgrad_files_checkpoints_latest
from dualgrad.files.checkpoints import list_variables as _dualgrad_files_checkpoints_list_variables
from dualgrad.files.checkpoints import load_checkpoint as _dualgrad_files_checkpoints_load_checkpoint
from dualgrad.files.checkpoints import load_variable as _dualgrad_files_checkpoints_load_variable
from dualgrad.files.events import summary_iterator as _dualgrad_files_events_summary_iterator
from dualgrad.files.protos import BytesList as _dualgrad_files_protos_BytesList
from dualgrad.files.protos import Example as _dualgrad_files_protos_Example
from dualgrad.files.protos import Feature as _dualgrad_files_protos_Feature
from dualgrad.files.protos import FeatureList as _dualgrad_files_protos_FeatureList
from dualgrad.files.protos import FeatureLists as _dualgrad_files_protos_FeatureLists
from dualgrad.files.protos import Features as _dualgrad_files_protos_Features
from dualgrad.files.protos import FloatList as _dualgrad_files_protos_FloatList
from dualgrad.files.protos import Int64List as _dualgrad_files_protos_Int64List
from dualgrad.files.protos import SequenceExample as _dualgrad_files_protos_SequenceExample
from dualgrad.files.records import RecordWriter as _dualgrad_files_records_RecordWriter
from dualgrad.files.tensors import array_of as _dualgrad_files_tensors_array_of
from dualgrad.files.tensors import as_tensor_proto as _dualgrad_files_tensors_as_tensor_proto
from dualgrad.frontend.eager_scopes import name_scope as name_scope
from dualgrad.frontend.methods import ResizeMethod as _dualgrad_frontend_methods_ResizeMethod
from dualgrad.frontend.namespace import namespace as _dualgrad_frontend_namespace_namespace
from dualgrad.frontend.overrides import RegisterGradient as RegisterGradient
from dualgrad.frontend.seeds import seed_pair as _dualgrad_frontend_seeds_seed_pair
from dualgrad.keras import datasets as _dualgrad_keras_datasets
from dualgrad.keras import preprocessing as _dualgrad_keras_preprocessing
from dualgrad.keras.activations import linear as _dualgrad_keras_activations_linear
from dualgrad.keras.activations import logits_of as _dualgrad_keras_activations_logits_of
from dualgrad.keras.activations import with_logits as _dualgrad_keras_activations_with_logits
from dualgrad.keras.batches import Sequence as _dualgrad_keras_batches_Sequence
from dualgrad.keras.callbacks import CSVLogger as _dualgrad_keras_callbacks_CSVLogger
from dualgrad.keras.callbacks import Callback as _dualgrad_keras_callbacks_Callback
from dualgrad.keras.callbacks import EarlyStopping as _dualgrad_keras_callbacks_EarlyStopping
from dualgrad.keras.callbacks import History as _dualgrad_keras_callbacks_History
from dualgrad.keras.callbacks import LambdaCallback as _dualgrad_keras_callbacks_LambdaCallback
from dualgrad.keras.callbacks import LearningRateScheduler as _dualgrad_keras_callbacks_LearningRateScheduler
from dualgrad.keras.callbacks import ModelCheckpoint as _dualgrad_keras_callbacks_ModelCheckpoint
from dualgrad.keras.callbacks import ReduceLROnPlateau as _dualgrad_keras_callbacks_ReduceLROnPlateau
from dualgrad.keras.callbacks import TerminateOnNaN as _dualgrad_keras_callbacks_TerminateOnNaN
from dualgrad.keras.constraints import Constraint as _dualgrad_keras_constraints_Constraint
from dualgrad.keras.constraints import MaxNorm as _dualgrad_keras_constraints_MaxNorm
from dualgrad.keras.constraints import MinMaxNorm as _dualgrad_keras_constraints_MinMaxNorm
from dualgrad.keras.constraints import NonNeg as _dualgrad_keras_constraints_NonNeg
from dualgrad.keras.constraints import UnitNorm as _dualgrad_keras_constraints_UnitNorm
from dualgrad.keras.downloads import get_file as _dualgrad_keras_downloads_get_file
from dualgrad.keras.initializers import Constant as _dualgrad_keras_initializers_Constant
from dualgrad.keras.initializers import GlorotNormal as _dualgrad_keras_initializers_GlorotNormal
from dualgrad.keras.initializers import GlorotUniform as _dualgrad_keras_initializers_GlorotUniform
from dualgrad.keras.initializers import HeNormal as _dualgrad_keras_initializers_HeNormal
from dualgrad.keras.initializers import HeUniform as _dualgrad_keras_initializers_HeUniform
from dualgrad.keras.initializers import Identity as _dualgrad_keras_initializers_Identity
from dualgrad.keras.initializers import Initializer as _dualgrad_keras_initializers_Initializer
from dualgrad.keras.initializers import LecunNormal as _dualgrad_keras_initializers_LecunNormal
from dualgrad.keras.initializers import LecunUniform as _dualgrad_keras_initializers_LecunUniform
from dualgrad.keras.initializers import Ones as _dualgrad_keras_initializers_Ones
from dualgrad.keras.initializers import Orthogonal as _dualgrad_keras_initializers_Orthogonal
from dualgrad.keras.initializers import RandomNormal as _dualgrad_keras_initializers_RandomNormal
from dualgrad.keras.initializers import RandomUniform as _dualgrad_keras_initializers_RandomUniform
from dualgrad.keras.initializers import TruncatedNormal as _dualgrad_keras_initializers_TruncatedNormal
from dualgrad.keras.initializers import VarianceScaling as _dualgrad_keras_initializers_VarianceScaling
from dualgrad.keras.initializers import Zeros as _dualgrad_keras_initializers_Zeros
from dualgrad.keras.layers.attention import AdditiveAttention as _dualgrad_keras_layers_attention_AdditiveAttention
from dualgrad.keras.layers.attention import Attention as _dualgrad_keras_layers_attention_Attention
from dualgrad.keras.layers.attention import EinsumDense as _dualgrad_keras_layers_attention_EinsumDense
from dualgrad.keras.layers.attention import MultiHeadAttention as _dualgrad_keras_layers_attention_MultiHeadAttention
from dualgrad.keras.layers.base import Layer as _dualgrad_keras_layers_base_Layer
from dualgrad.keras.layers.cells import GRUCell as _dualgrad_keras_layers_cells_GRUCell
from dualgrad.keras.layers.cells import LSTMCell as _dualgrad_keras_layers_cells_LSTMCell
from dualgrad.keras.layers.cells import SimpleRNNCell as _dualgrad_keras_layers_cells_SimpleRNNCell
from dualgrad.keras.layers.convolution import Conv1D as _dualgrad_keras_layers_convolution_Conv1D
from dualgrad.keras.layers.convolution import Conv1DTranspose as _dualgrad_keras_layers_convolution_Conv1DTranspose
from dualgrad.keras.layers.convolution import Conv2D as _dualgrad_keras_layers_convolution_Conv2D
from dualgrad.keras.layers.convolution import Conv2DTranspose as _dualgrad_keras_layers_convolution_Conv2DTranspose
from dualgrad.keras.layers.convolution import Conv3D as _dualgrad_keras_layers_convolution_Conv3D
from dualgrad.keras.layers.convolution import Conv3DTranspose as _dualgrad_keras_layers_convolution_Conv3DTranspose
from dualgrad.keras.layers.convolution import DepthwiseConv2D as _dualgrad_keras_layers_convolution_DepthwiseConv2D
from dualgrad.keras.layers.convolution import SeparableConv1D as _dualgrad_keras_layers_convolution_SeparableConv1D
from dualgrad.keras.layers.convolution import SeparableConv2D as _dualgrad_keras_layers_convolution_SeparableConv2D
from dualgrad.keras.layers.core import Activation as _dualgrad_keras_layers_core_Activation
from dualgrad.keras.layers.core import Dense as _dualgrad_keras_layers_core_Dense
from dualgrad.keras.layers.core import Dropout as _dualgrad_keras_layers_core_Dropout
from dualgrad.keras.layers.core import Embedding as _dualgrad_keras_layers_core_Embedding
from dualgrad.keras.layers.core import Flatten as _dualgrad_keras_layers_core_Flatten
from dualgrad.keras.layers.core import Input as _dualgrad_keras_layers_core_Input
from dualgrad.keras.layers.core import InputLayer as _dualgrad_keras_layers_core_InputLayer
from dualgrad.keras.layers.core import Lambda as _dualgrad_keras_layers_core_Lambda
from dualgrad.keras.layers.core import LeakyReLU as _dualgrad_keras_layers_core_LeakyReLU
from dualgrad.keras.layers.core import Masking as _dualgrad_keras_layers_core_Masking
from dualgrad.keras.layers.core import ReLU as _dualgrad_keras_layers_core_ReLU
from dualgrad.keras.layers.core import Reshape as _dualgrad_keras_layers_core_Reshape
from dualgrad.keras.layers.core import Softmax as _dualgrad_keras_layers_core_Softmax
from dualgrad.keras.layers.merging import Add as _dualgrad_keras_layers_merging_Add
from dualgrad.keras.layers.merging import Average as _dualgrad_keras_layers_merging_Average
from dualgrad.keras.layers.merging import Concatenate as _dualgrad_keras_layers_merging_Concatenate
from dualgrad.keras.layers.merging import Dot as _dualgrad_keras_layers_merging_Dot
from dualgrad.keras.layers.merging import Maximum as _dualgrad_keras_layers_merging_Maximum
from dualgrad.keras.layers.merging import Minimum as _dualgrad_keras_layers_merging_Minimum
from dualgrad.keras.layers.merging import Multiply as _dualgrad_keras_layers_merging_Multiply
from dualgrad.keras.layers.merging import Subtract as _dualgrad_keras_layers_merging_Subtract
from dualgrad.keras.layers.normalization import BatchNormalization as _dualgrad_keras_layers_normalization_BatchNormalization
from dualgrad.keras.layers.normalization import LayerNormalization as _dualgrad_keras_layers_normalization_LayerNormalization
from dualgrad.keras.layers.pooling import AveragePooling1D as _dualgrad_keras_layers_pooling_AveragePooling1D
from dualgrad.keras.layers.pooling import AveragePooling2D as _dualgrad_keras_layers_pooling_AveragePooling2D
from dualgrad.keras.layers.pooling import AveragePooling3D as _dualgrad_keras_layers_pooling_AveragePooling3D
from dualgrad.keras.layers.pooling import GlobalAveragePooling1D as _dualgrad_keras_layers_pooling_GlobalAveragePooling1D
from dualgrad.keras.layers.pooling import GlobalAveragePooling2D as _dualgrad_keras_layers_pooling_GlobalAveragePooling2D
from dualgrad.keras.layers.pooling import GlobalAveragePooling3D as _dualgrad_keras_layers_pooling_GlobalAveragePooling3D
from dualgrad.keras.layers.pooling import GlobalMaxPooling1D as _dualgrad_keras_layers_pooling_GlobalMaxPooling1D
from dualgrad.keras.layers.pooling import GlobalMaxPooling2D as _dualgrad_keras_layers_pooling_GlobalMaxPooling2D
from dualgrad.keras.layers.pooling import GlobalMaxPooling3D as _dualgrad_keras_layers_pooling_GlobalMaxPooling3D
from dualgrad.keras.layers.pooling import MaxPooling1D as _dualgrad_keras_layers_pooling_MaxPooling1D
from dualgrad.keras.layers.pooling import MaxPooling2D as _dualgrad_keras_layers_pooling_MaxPooling2D
from dualgrad.keras.layers.pooling import MaxPooling3D as _dualgrad_keras_layers_pooling_MaxPooling3D
from dualgrad.keras.layers.preprocessing import CategoryEncoding as _dualgrad_keras_layers_preprocessing_CategoryEncoding
from dualgrad.keras.layers.preprocessing import Identity as _dualgrad_keras_layers_preprocessing_Identity
from dualgrad.keras.layers.preprocessing import Normalization as _dualgrad_keras_layers_preprocessing_Normalization
from dualgrad.keras.layers.preprocessing import Rescaling as _dualgrad_keras_layers_preprocessing_Rescaling
from dualgrad.keras.layers.recurrent import Bidirectional as _dualgrad_keras_layers_recurrent_Bidirectional
from dualgrad.keras.layers.recurrent import GRU as _dualgrad_keras_layers_recurrent_GRU
from dualgrad.keras.layers.recurrent import LSTM as _dualgrad_keras_layers_recurrent_LSTM
from dualgrad.keras.layers.recurrent import RNN as _dualgrad_keras_layers_recurrent_RNN
from dualgrad.keras.layers.recurrent import SimpleRNN as _dualgrad_keras_layers_recurrent_SimpleRNN
from dualgrad.keras.layers.recurrent import StackedRNNCells as _dualgrad_keras_layers_recurrent_StackedRNNCells
from dualgrad.keras.layers.recurrent import TimeDistributed as _dualgrad_keras_layers_recurrent_TimeDistributed
from dualgrad.keras.layers.shaping import ActivityRegularization as _dualgrad_keras_layers_shaping_ActivityRegularization
from dualgrad.keras.layers.shaping import Cropping1D as _dualgrad_keras_layers_shaping_Cropping1D
from dualgrad.keras.layers.shaping import Cropping2D as _dualgrad_keras_layers_shaping_Cropping2D
from dualgrad.keras.layers.shaping import Cropping3D as _dualgrad_keras_layers_shaping_Cropping3D
from dualgrad.keras.layers.shaping import ELU as _dualgrad_keras_layers_shaping_ELU
from dualgrad.keras.layers.shaping import GaussianDropout as _dualgrad_keras_layers_shaping_GaussianDropout
from dualgrad.keras.layers.shaping import GaussianNoise as _dualgrad_keras_layers_shaping_GaussianNoise
from dualgrad.keras.layers.shaping import PReLU as _dualgrad_keras_layers_shaping_PReLU
from dualgrad.keras.layers.shaping import Permute as _dualgrad_keras_layers_shaping_Permute
from dualgrad.keras.layers.shaping import RepeatVector as _dualgrad_keras_layers_shaping_RepeatVector
from dualgrad.keras.layers.shaping import SpatialDropout1D as _dualgrad_keras_layers_shaping_SpatialDropout1D
from dualgrad.keras.layers.shaping import SpatialDropout2D as _dualgrad_keras_layers_shaping_SpatialDropout2D
from dualgrad.keras.layers.shaping import SpatialDropout3D as _dualgrad_keras_layers_shaping_SpatialDropout3D
from dualgrad.keras.layers.shaping import UpSampling1D as _dualgrad_keras_layers_shaping_UpSampling1D
from dualgrad.keras.layers.shaping import UpSampling2D as _dualgrad_keras_layers_shaping_UpSampling2D
from dualgrad.keras.layers.shaping import UpSampling3D as _dualgrad_keras_layers_shaping_UpSampling3D
from dualgrad.keras.layers.shaping import ZeroPadding1D as _dualgrad_keras_layers_shaping_ZeroPadding1D
from dualgrad.keras.layers.shaping import ZeroPadding2D as _dualgrad_keras_layers_shaping_ZeroPadding2D
from dualgrad.keras.layers.shaping import ZeroPadding3D as _dualgrad_keras_layers_shaping_ZeroPadding3D
from dualgrad.keras.losses import BinaryCrossentropy as _dualgrad_keras_losses_BinaryCrossentropy
from dualgrad.keras.losses import CategoricalCrossentropy as _dualgrad_keras_losses_CategoricalCrossentropy
from dualgrad.keras.losses import CategoricalHinge as _dualgrad_keras_losses_CategoricalHinge
from dualgrad.keras.losses import CosineSimilarity as _dualgrad_keras_losses_CosineSimilarity
from dualgrad.keras.losses import Hinge as _dualgrad_keras_losses_Hinge
from dualgrad.keras.losses import Huber as _dualgrad_keras_losses_Huber
from dualgrad.keras.losses import KLDivergence as _dualgrad_keras_losses_KLDivergence
from dualgrad.keras.losses import LogCosh as _dualgrad_keras_losses_LogCosh
from dualgrad.keras.losses import Loss as _dualgrad_keras_losses_Loss
from dualgrad.keras.losses import LossFunctionWrapper as _dualgrad_keras_losses_LossFunctionWrapper
from dualgrad.keras.losses import MeanAbsoluteError as _dualgrad_keras_losses_MeanAbsoluteError
from dualgrad.keras.losses import MeanAbsolutePercentageError as _dualgrad_keras_losses_MeanAbsolutePercentageError
from dualgrad.keras.losses import MeanSquaredError as _dualgrad_keras_losses_MeanSquaredError
from dualgrad.keras.losses import MeanSquaredLogarithmicError as _dualgrad_keras_losses_MeanSquaredLogarithmicError
from dualgrad.keras.losses import Poisson as _dualgrad_keras_losses_Poisson
from dualgrad.keras.losses import Reduction as _dualgrad_keras_losses_Reduction
from dualgrad.keras.losses import SparseCategoricalCrossentropy as _dualgrad_keras_losses_SparseCategoricalCrossentropy
from dualgrad.keras.losses import SquaredHinge as _dualgrad_keras_losses_SquaredHinge
from dualgrad.keras.metrics.decisions import AUC as _dualgrad_keras_metrics_decisions_AUC
from dualgrad.keras.metrics.decisions import F1Score as _dualgrad_keras_metrics_decisions_F1Score
from dualgrad.keras.metrics.decisions import FBetaScore as _dualgrad_keras_metrics_decisions_FBetaScore
from dualgrad.keras.metrics.decisions import FalseNegatives as _dualgrad_keras_metrics_decisions_FalseNegatives
from dualgrad.keras.metrics.decisions import FalsePositives as _dualgrad_keras_metrics_decisions_FalsePositives
from dualgrad.keras.metrics.decisions import MeanIoU as _dualgrad_keras_metrics_decisions_MeanIoU
from dualgrad.keras.metrics.decisions import Precision as _dualgrad_keras_metrics_decisions_Precision
from dualgrad.keras.metrics.decisions import Recall as _dualgrad_keras_metrics_decisions_Recall
from dualgrad.keras.metrics.decisions import TrueNegatives as _dualgrad_keras_metrics_decisions_TrueNegatives
from dualgrad.keras.metrics.decisions import TruePositives as _dualgrad_keras_metrics_decisions_TruePositives
from dualgrad.keras.metrics.means import Accuracy as _dualgrad_keras_metrics_means_Accuracy
from dualgrad.keras.metrics.means import BinaryAccuracy as _dualgrad_keras_metrics_means_BinaryAccuracy
from dualgrad.keras.metrics.means import BinaryCrossentropy as _dualgrad_keras_metrics_means_BinaryCrossentropy
from dualgrad.keras.metrics.means import CategoricalAccuracy as _dualgrad_keras_metrics_means_CategoricalAccuracy
from dualgrad.keras.metrics.means import CategoricalCrossentropy as _dualgrad_keras_metrics_means_CategoricalCrossentropy
from dualgrad.keras.metrics.means import CosineSimilarity as _dualgrad_keras_metrics_means_CosineSimilarity
from dualgrad.keras.metrics.means import LogCoshError as _dualgrad_keras_metrics_means_LogCoshError
from dualgrad.keras.metrics.means import Mean as _dualgrad_keras_metrics_means_Mean
from dualgrad.keras.metrics.means import MeanAbsoluteError as _dualgrad_keras_metrics_means_MeanAbsoluteError
from dualgrad.keras.metrics.means import MeanMetricWrapper as _dualgrad_keras_metrics_means_MeanMetricWrapper
from dualgrad.keras.metrics.means import MeanSquaredError as _dualgrad_keras_metrics_means_MeanSquaredError
from dualgrad.keras.metrics.means import Metric as _dualgrad_keras_metrics_means_Metric
from dualgrad.keras.metrics.means import RootMeanSquaredError as _dualgrad_keras_metrics_means_RootMeanSquaredError
from dualgrad.keras.metrics.means import SparseCategoricalAccuracy as _dualgrad_keras_metrics_means_SparseCategoricalAccuracy
from dualgrad.keras.metrics.means import SparseCategoricalCrossentropy as _dualgrad_keras_metrics_means_SparseCategoricalCrossentropy
from dualgrad.keras.metrics.means import SparseTopKCategoricalAccuracy as _dualgrad_keras_metrics_means_SparseTopKCategoricalAccuracy
from dualgrad.keras.metrics.means import Sum as _dualgrad_keras_metrics_means_Sum
from dualgrad.keras.metrics.means import TopKCategoricalAccuracy as _dualgrad_keras_metrics_means_TopKCategoricalAccuracy
from dualgrad.keras.models import Functional as _dualgrad_keras_models_Functional
from dualgrad.keras.models import Model as _dualgrad_keras_models_Model
from dualgrad.keras.models import Sequential as _dualgrad_keras_models_Sequential
from dualgrad.keras.picture_files import array_to_img as _dualgrad_keras_picture_files_array_to_img
from dualgrad.keras.picture_files import img_to_array as _dualgrad_keras_picture_files_img_to_array
from dualgrad.keras.picture_files import load_img as _dualgrad_keras_picture_files_load_img
from dualgrad.keras.picture_files import save_img as _dualgrad_keras_picture_files_save_img
from dualgrad.keras.preprocessing.sequence import make_sampling_table as _dualgrad_keras_preprocessing_sequence_make_sampling_table
from dualgrad.keras.preprocessing.sequence import pad_sequences as _dualgrad_keras_preprocessing_sequence_pad_sequences
from dualgrad.keras.preprocessing.sequence import skipgrams as _dualgrad_keras_preprocessing_sequence_skipgrams
from dualgrad.keras.progress import Progbar as _dualgrad_keras_progress_Progbar
from dualgrad.keras.regularizers import L1 as _dualgrad_keras_regularizers_L1
from dualgrad.keras.regularizers import L1L2 as _dualgrad_keras_regularizers_L1L2
from dualgrad.keras.regularizers import L2 as _dualgrad_keras_regularizers_L2
from dualgrad.keras.regularizers import Regularizer as _dualgrad_keras_regularizers_Regularizer
from dualgrad.keras.settings import epsilon as _dualgrad_keras_settings_epsilon
from dualgrad.keras.settings import floatx as _dualgrad_keras_settings_floatx
from dualgrad.keras.settings import int_shape as _dualgrad_keras_settings_int_shape
from dualgrad.keras.settings import set_epsilon as _dualgrad_keras_settings_set_epsilon
from dualgrad.keras.settings import set_floatx as _dualgrad_keras_settings_set_floatx
from dualgrad.keras.utils import custom_object_scope as _dualgrad_keras_utils_custom_object_scope
from dualgrad.keras.utils import get_custom_objects as _dualgrad_keras_utils_get_custom_objects
from dualgrad.keras.utils import register_keras_serializable as _dualgrad_keras_utils_register_keras_serializable
from dualgrad.keras.utils import to_categorical as _dualgrad_keras_utils_to_categorical
from dualgrad.platform.config import LogicalDevice as _dualgrad_platform_config_LogicalDevice
from dualgrad.platform.config import LogicalDeviceConfiguration as _dualgrad_platform_config_LogicalDeviceConfiguration
from dualgrad.platform.config import PhysicalDevice as _dualgrad_platform_config_PhysicalDevice
from dualgrad.platform.config import enable_op_determinism as _dualgrad_platform_config_enable_op_determinism
from dualgrad.platform.config import enable_tensor_float_32_execution as _dualgrad_platform_config_enable_tensor_float_32_execution
from dualgrad.platform.config import functions_run_eagerly as _dualgrad_platform_config_functions_run_eagerly
from dualgrad.platform.config import get_inter_op_parallelism_threads as _dualgrad_platform_config_get_inter_op_parallelism_threads
from dualgrad.platform.config import get_intra_op_parallelism_threads as _dualgrad_platform_config_get_intra_op_parallelism_threads
from dualgrad.platform.config import get_jit as _dualgrad_platform_config_get_jit
from dualgrad.platform.config import get_memory_growth as _dualgrad_platform_config_get_memory_growth
from dualgrad.platform.config import get_soft_device_placement as _dualgrad_platform_config_get_soft_device_placement
from dualgrad.platform.config import get_visible_devices as _dualgrad_platform_config_get_visible_devices
from dualgrad.platform.config import list_logical_devices as _dualgrad_platform_config_list_logical_devices
from dualgrad.platform.config import list_physical_devices as _dualgrad_platform_config_list_physical_devices
from dualgrad.platform.config import run_functions_eagerly as _dualgrad_platform_config_run_functions_eagerly
from dualgrad.platform.config import set_inter_op_parallelism_threads as _dualgrad_platform_config_set_inter_op_parallelism_threads
from dualgrad.platform.config import set_intra_op_parallelism_threads as _dualgrad_platform_config_set_intra_op_parallelism_threads
from dualgrad.platform.config import set_jit as _dualgrad_platform_config_set_jit
from dualgrad.platform.config import set_logical_device_configuration as _dualgrad_platform_config_set_logical_device_configuration
from dualgrad.platform.config import set_memory_growth as _dualgrad_platform_config_set_memory_growth
from dualgrad.platform.config import set_soft_device_placement as _dualgrad_platform_config_set_soft_device_placement
from dualgrad.platform.config import set_visible_devices as _dualgrad_platform_config_set_visible_devices
from dualgrad.platform.config import tensor_float_32_execution_enabled as _dualgrad_platform_config_tensor_float_32_execution_enabled
from dualgrad.platform.gfile import GFile as _dualgrad_platform_gfile_GFile
from dualgrad.platform.gfile import copy as _dualgrad_platform_gfile_copy
from dualgrad.platform.gfile import exists as _dualgrad_platform_gfile_exists
from dualgrad.platform.gfile import glob as _dualgrad_platform_gfile_glob
from dualgrad.platform.gfile import isdir as _dualgrad_platform_gfile_isdir
from dualgrad.platform.gfile import join as _dualgrad_platform_gfile_join
from dualgrad.platform.gfile import listdir as _dualgrad_platform_gfile_listdir
from dualgrad.platform.gfile import makedirs as _dualgrad_platform_gfile_makedirs
from dualgrad.platform.gfile import mkdir as _dualgrad_platform_gfile_mkdir
from dualgrad.platform.gfile import remove as _dualgrad_platform_gfile_remove
from dualgrad.platform.gfile import rename as _dualgrad_platform_gfile_rename
from dualgrad.platform.gfile import rmtree as _dualgrad_platform_gfile_rmtree
from dualgrad.platform.gfile import stat as _dualgrad_platform_gfile_stat
from dualgrad.platform.gfile import walk as _dualgrad_platform_gfile_walk
from dualgrad.sparse.functions import add as _dualgrad_sparse_functions_add
from dualgrad.sparse.functions import concat as _dualgrad_sparse_functions_concat
from dualgrad.sparse.functions import expand_dims as _dualgrad_sparse_functions_expand_dims
from dualgrad.sparse.functions import fill_empty_rows as _dualgrad_sparse_functions_fill_empty_rows
from dualgrad.sparse.functions import map_values as _dualgrad_sparse_functions_map_values
from dualgrad.sparse.functions import maximum as _dualgrad_sparse_functions_maximum
from dualgrad.sparse.functions import minimum as _dualgrad_sparse_functions_minimum
from dualgrad.sparse.functions import reduce_max as _dualgrad_sparse_functions_reduce_max
from dualgrad.sparse.functions import reduce_sum as _dualgrad_sparse_functions_reduce_sum
from dualgrad.sparse.functions import reorder as _dualgrad_sparse_functions_reorder
from dualgrad.sparse.functions import reset_shape as _dualgrad_sparse_functions_reset_shape
from dualgrad.sparse.functions import reshape as _dualgrad_sparse_functions_reshape
from dualgrad.sparse.functions import retain as _dualgrad_sparse_functions_retain
from dualgrad.sparse.functions import slice as _dualgrad_sparse_functions_slice
from dualgrad.sparse.functions import softmax as _dualgrad_sparse_functions_softmax
from dualgrad.sparse.functions import sparse_dense_matmul as _dualgrad_sparse_functions_sparse_dense_matmul
from dualgrad.sparse.functions import split as _dualgrad_sparse_functions_split
from dualgrad.sparse.functions import to_dense as _dualgrad_sparse_functions_to_dense
from dualgrad.sparse.functions import to_indicator as _dualgrad_sparse_functions_to_indicator
from dualgrad.sparse.functions import transpose as _dualgrad_sparse_functions_transpose
from engine import function_transforms as _engine_function_transforms
from engine.aggregation import AggregationMethod as AggregationMethod
from engine.core import nest as _engine_core_nest
from engine.core.detach import effect as _engine_core_detach_effect
from engine.core.dtypes import DType as DType
from engine.core.dtypes import DType as _DType
from engine.core.dtypes import DType as _engine_core_dtypes_DType
from engine.core.dtypes import as_dtype as _engine_core_dtypes_as_dtype
from engine.core.dtypes import as_dtype as as_dtype
from engine.core.eager import EagerTensor as _engine_core_eager_EagerTensor
from engine.core.operands import Operand as _engine_core_operands_Operand
from engine.core.tensor_shape import TensorShape as TensorShape
from engine.core.tensor_shape import TensorShape as _TensorShape
from engine.core.unconnected import UnconnectedGradients as UnconnectedGradients
from engine.core.value import Value as _Value
from engine.core.value import Value as _engine_core_value_Value
from engine.explain import explain as explain
from engine.explain.check_numerics import disable_check_numerics as _engine_explain_check_numerics_disable_check_numerics
from engine.explain.check_numerics import enable_check_numerics as _engine_explain_check_numerics_enable_check_numerics
from engine.gradient_tape import GradientTape as GradientTape
from engine.ops import checked as _engine_ops_checked
from engine.ops import dropout as _engine_ops_dropout
from engine.ops import random as _engine_ops_random
from engine.ops.gather import gather as _engine_ops_gather_gather
from engine.ops.indexed_slices import IndexedSlices as IndexedSlices
from engine.ops.joining import stack as _engine_ops_joining_stack
from engine.primitive import primitive as primitive
from engine.runtime import errors as _engine_runtime_errors
from engine.runtime.commit import exclusively as _engine_runtime_commit_exclusively
from engine.runtime.errors import InvalidArgumentError as _engine_runtime_errors_InvalidArgumentError
from engine.runtime.errors import ShapeError as _engine_runtime_errors_ShapeError
from optim.adadelta import AdadeltaOptimizer as _optim_adadelta_AdadeltaOptimizer
from optim.adagrad import AdagradOptimizer as _optim_adagrad_AdagradOptimizer
from optim.adam import AdamOptimizer as _optim_adam_AdamOptimizer
from optim.averages import ExponentialMovingAverage as _optim_averages_ExponentialMovingAverage
from optim.dual_averaging import AdagradDAOptimizer as _optim_dual_averaging_AdagradDAOptimizer
from optim.ftrl import FtrlOptimizer as _optim_ftrl_FtrlOptimizer
from optim.gradient_descent import GradientDescentOptimizer as _optim_gradient_descent_GradientDescentOptimizer
from optim.momentum import MomentumOptimizer as _optim_momentum_MomentumOptimizer
from optim.optimizer import Optimizer as _optim_optimizer_Optimizer
from optim.proximal import ProximalAdagradOptimizer as _optim_proximal_ProximalAdagradOptimizer
from optim.proximal import ProximalGradientDescentOptimizer as _optim_proximal_ProximalGradientDescentOptimizer
from optim.rmsprop import RMSPropOptimizer as _optim_rmsprop_RMSPropOptimizer
from optim.schedules import cosine_decay as _optim_schedules_cosine_decay
from optim.schedules import cosine_decay_restarts as _optim_schedules_cosine_decay_restarts
from optim.schedules import exponential_decay as _optim_schedules_exponential_decay
from optim.schedules import inverse_time_decay as _optim_schedules_inverse_time_decay
from optim.schedules import linear_cosine_decay as _optim_schedules_linear_cosine_decay
from optim.schedules import natural_exp_decay as _optim_schedules_natural_exp_decay
from optim.schedules import piecewise_constant as _optim_schedules_piecewise_constant
from optim.schedules import polynomial_decay as _optim_schedules_polynomial_decay
from tape_api import autodiff as _tape_api_autodiff
from tape_api import data as _tape_api_data
from tape_api import distribute as _tape_api_distribute
from tape_api import summary as _tape_api_summary
from tape_api import test as _tape_api_test
from tape_api.board import TensorBoard as _tape_api_board_TensorBoard
from tape_api.checkpoint import Checkpoint as _tape_api_checkpoint_Checkpoint
from tape_api.checkpoint import CheckpointManager as _tape_api_checkpoint_CheckpointManager
from tape_api.ctc import ctc_beam_search_decoder as _tape_api_ctc_ctc_beam_search_decoder
from tape_api.ctc import ctc_greedy_decoder as _tape_api_ctc_ctc_greedy_decoder
from tape_api.ctc import ctc_loss as _tape_api_ctc_ctc_loss
from tape_api.ctc import edit_distance as edit_distance
from tape_api.debugging import assert_all_finite as _tape_api_debugging_assert_all_finite
from tape_api.debugging import assert_equal as _tape_api_debugging_assert_equal
from tape_api.debugging import assert_greater as _tape_api_debugging_assert_greater
from tape_api.debugging import assert_greater_equal as _tape_api_debugging_assert_greater_equal
from tape_api.debugging import assert_less as _tape_api_debugging_assert_less
from tape_api.debugging import assert_less_equal as _tape_api_debugging_assert_less_equal
from tape_api.debugging import assert_near as _tape_api_debugging_assert_near
from tape_api.debugging import assert_non_negative as _tape_api_debugging_assert_non_negative
from tape_api.debugging import assert_none_equal as _tape_api_debugging_assert_none_equal
from tape_api.debugging import assert_positive as _tape_api_debugging_assert_positive
from tape_api.debugging import assert_rank as _tape_api_debugging_assert_rank
from tape_api.debugging import check_numerics as _tape_api_debugging_check_numerics
from tape_api.debugging import ensure_shape as _tape_api_debugging_ensure_shape
from tape_api.debugging import ensure_shape as ensure_shape
from tape_api.debugging import is_numeric_tensor as _tape_api_debugging_is_numeric_tensor
from tape_api.flow import case as case
from tape_api.flow import cond as cond
from tape_api.flow import control_dependencies as control_dependencies
from tape_api.flow import custom_gradient as custom_gradient
from tape_api.flow import device as device
from tape_api.flow import executing_eagerly as executing_eagerly
from tape_api.flow import get_static_value as get_static_value
from tape_api.flow import grad_pass_through as grad_pass_through
from tape_api.flow import group as group
from tape_api.flow import init_scope as init_scope
from tape_api.flow import no_op as no_op
from tape_api.flow import numpy_function as _tape_api_flow_numpy_function
from tape_api.flow import numpy_function as numpy_function
from tape_api.flow import py_function as py_function
from tape_api.flow import switch_case as switch_case
from tape_api.function import function as function
from tape_api.functions_for_scipy import for_ode as for_ode
from tape_api.functions_for_scipy import for_scipy as for_scipy
from tape_api.keras import optimizers as _tape_api_keras_optimizers
from tape_api.library import public as _tape_api_library_public
from tape_api.loops import foldl as foldl
from tape_api.loops import foldr as foldr
from tape_api.loops import map_fn as map_fn
from tape_api.loops import scan as scan
from tape_api.loops import vectorized_map as vectorized_map
from tape_api.loops import while_loop as while_loop
from tape_api.model_files import save_model as _tape_api_model_files_save_model
from tape_api.printing import tensor_text as _tape_api_printing_tensor_text
from tape_api.random import Draws as _tape_api_random_Draws
from tape_api.random import Generator as _tape_api_random_Generator
from tape_api.random import Streams as _tape_api_random_Streams
from tape_api.random import categorical as _tape_api_random_categorical
from tape_api.random import default_seed as _tape_api_random_default_seed
from tape_api.random import dropout as _tape_api_random_dropout
from tape_api.random import gamma as _tape_api_random_gamma
from tape_api.random import inside as _tape_api_random_inside
from tape_api.random import is_inside as _tape_api_random_is_inside
from tape_api.random import normal as _tape_api_random_normal
from tape_api.random import op_seeds as _tape_api_random_op_seeds
from tape_api.random import poisson as _tape_api_random_poisson
from tape_api.random import set_seed as _tape_api_random_set_seed
from tape_api.random import shuffle as _tape_api_random_shuffle
from tape_api.random import truncated_normal as _tape_api_random_truncated_normal
from tape_api.random import uniform as _tape_api_random_uniform
from tape_api.recompute import recompute_grad as recompute_grad
from tape_api.saver import Saver as _tape_api_saver_Saver
from tape_api.sparse import SparseTensor as SparseTensor
from tape_api.sparse import SparseTensor as _tape_api_sparse_SparseTensor
from tape_api.sparse import embedding_lookup_sparse as _tape_api_sparse_embedding_lookup_sparse
from tape_api.sparse import safe_embedding_lookup_sparse as _tape_api_sparse_safe_embedding_lookup_sparse
from tape_api.sparse import segment_mean as _tape_api_sparse_segment_mean
from tape_api.sparse import segment_sqrt_n as _tape_api_sparse_segment_sqrt_n
from tape_api.sparse import segment_sum as _tape_api_sparse_segment_sum
from tape_api.string_parts import bytes_split as _tape_api_string_parts_bytes_split
from tape_api.string_parts import split as _tape_api_string_parts_split
from tape_api.symbolic import gradients as gradients
from tape_api.symbolic import hessians as hessians
from tape_api.tensor import TensorSpec as TensorSpec
from tape_api.tensor import constant as constant
from tape_api.tensor import convert_to_tensor as _tape_api_tensor_convert_to_tensor
from tape_api.tensor import convert_to_tensor as convert_to_tensor
from tape_api.tensor import is_tensor as is_tensor
from tape_api.tensor import wrapped as _tape_api_tensor_wrapped
from tape_api.tensor_array import TensorArray as TensorArray
from tape_api.train import create_global_step as _tape_api_train_create_global_step
from tape_api.train import get_global_step as _tape_api_train_get_global_step
from tape_api.train import get_or_create_global_step as _tape_api_train_get_or_create_global_step
from tape_api.variable import Variable as Variable
from tape_api.variable import Variable as _tape_api_variable_Variable
from tape_api.version1 import assign as assign
from tape_api.version1 import assign_add as assign_add
from tape_api.version1 import assign_sub as assign_sub
from tape_api.version1 import enable_eager_execution as enable_eager_execution
from tape_api.version1 import multinomial as multinomial

TensorLike = _Value | IndexedSlices | np.ndarray | np.generic | builtins.complex | str | Sequence[Any] | None

class _LogMatrixDeterminant(NamedTuple):
    sign: Tensor
    log_abs_determinant: Tensor

class _MaxPoolWithArgmax(NamedTuple):
    output: Tensor
    argmax: Tensor

class _Qr(NamedTuple):
    q: Tensor
    r: Tensor

class _TopKV2(NamedTuple):
    values: Tensor
    indices: Tensor

class _Unique(NamedTuple):
    y: Tensor
    idx: Tensor

class _UniqueWithCounts(NamedTuple):
    y: Tensor
    idx: Tensor
    count: Any

Tensor: TypeAlias = _engine_core_eager_EagerTensor
def abs(x: TensorLike, name: str | None = ...) -> Tensor: ...
def acos(x: TensorLike, name: str | None = ...) -> Tensor: ...
def acosh(x: TensorLike, name: str | None = ...) -> Tensor: ...
def add(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def add_n(inputs: TensorLike, name: str | None = ...) -> Tensor: ...
def argmax(input: TensorLike, axis: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
def argmin(input: TensorLike, axis: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
def argsort(values: TensorLike, axis: Any = ..., direction: Any = ..., stable: Any = ..., name: str | None = ...) -> Tensor: ...
def as_string(*args: Any, **kwargs: Any) -> Any: ...
def asin(x: TensorLike, name: str | None = ...) -> Tensor: ...
def asinh(x: TensorLike, name: str | None = ...) -> Tensor: ...
def atan(x: TensorLike, name: str | None = ...) -> Tensor: ...
def atan2(y: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
def atanh(x: TensorLike, name: str | None = ...) -> Tensor: ...
autodiff = _tape_api_autodiff
def batch_to_space(input: TensorLike, block_shape: Any, crops: Any, name: str | None = ...) -> Tensor: ...
class bitwise:
    @staticmethod
    def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def invert(x: TensorLike, name: str | None = ...) -> Tensor: ...
bool: _DType
def boolean_mask(tensor: TensorLike, mask: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike, name: str | None = ...) -> Tensor: ...
def broadcast_static_shape(shape_x: Any, shape_y: Any, name: str | None = ...) -> _TensorShape: ...
def broadcast_to(input: TensorLike, shape: Any, name: str | None = ...) -> Tensor: ...
def cast(x: TensorLike, dtype: Any, name: str | None = ...) -> Tensor: ...
def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = ..., name: str | None = ...) -> builtins.tuple[builtins.list[Tensor], Tensor]: ...
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = ..., name: str | None = ...) -> Tensor: ...
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = ...) -> Tensor: ...
compat: Any
def complex(real: TensorLike, imag: TensorLike, name: str | None = ...) -> Tensor: ...
complex128: _DType
complex64: _DType
def concat(values: TensorLike, axis: Any, name: str | None = ...) -> Tensor: ...
class config:
    LogicalDevice: TypeAlias = _dualgrad_platform_config_LogicalDevice
    LogicalDeviceConfiguration: TypeAlias = _dualgrad_platform_config_LogicalDeviceConfiguration
    PhysicalDevice: TypeAlias = _dualgrad_platform_config_PhysicalDevice
    class experimental:
        VirtualDeviceConfiguration: TypeAlias = _dualgrad_platform_config_LogicalDeviceConfiguration
        enable_op_determinism = staticmethod(_dualgrad_platform_config_enable_op_determinism)
        enable_tensor_float_32_execution = staticmethod(_dualgrad_platform_config_enable_tensor_float_32_execution)
        get_memory_growth = staticmethod(_dualgrad_platform_config_get_memory_growth)
        get_visible_devices = staticmethod(_dualgrad_platform_config_get_visible_devices)
        list_logical_devices = staticmethod(_dualgrad_platform_config_list_logical_devices)
        list_physical_devices = staticmethod(_dualgrad_platform_config_list_physical_devices)
        set_memory_growth = staticmethod(_dualgrad_platform_config_set_memory_growth)
        set_virtual_device_configuration = staticmethod(_dualgrad_platform_config_set_logical_device_configuration)
        set_visible_devices = staticmethod(_dualgrad_platform_config_set_visible_devices)
        tensor_float_32_execution_enabled = staticmethod(_dualgrad_platform_config_tensor_float_32_execution_enabled)
    experimental_functions_run_eagerly = staticmethod(_dualgrad_platform_config_functions_run_eagerly)
    experimental_run_functions_eagerly = staticmethod(_dualgrad_platform_config_run_functions_eagerly)
    functions_run_eagerly = staticmethod(_dualgrad_platform_config_functions_run_eagerly)
    get_soft_device_placement = staticmethod(_dualgrad_platform_config_get_soft_device_placement)
    get_visible_devices = staticmethod(_dualgrad_platform_config_get_visible_devices)
    list_logical_devices = staticmethod(_dualgrad_platform_config_list_logical_devices)
    list_physical_devices = staticmethod(_dualgrad_platform_config_list_physical_devices)
    class optimizer:
        get_jit = staticmethod(_dualgrad_platform_config_get_jit)
        set_jit = staticmethod(_dualgrad_platform_config_set_jit)
    run_functions_eagerly = staticmethod(_dualgrad_platform_config_run_functions_eagerly)
    set_logical_device_configuration = staticmethod(_dualgrad_platform_config_set_logical_device_configuration)
    set_soft_device_placement = staticmethod(_dualgrad_platform_config_set_soft_device_placement)
    set_visible_devices = staticmethod(_dualgrad_platform_config_set_visible_devices)
    class threading:
        get_inter_op_parallelism_threads = staticmethod(_dualgrad_platform_config_get_inter_op_parallelism_threads)
        get_intra_op_parallelism_threads = staticmethod(_dualgrad_platform_config_get_intra_op_parallelism_threads)
        set_inter_op_parallelism_threads = staticmethod(_dualgrad_platform_config_set_inter_op_parallelism_threads)
        set_intra_op_parallelism_threads = staticmethod(_dualgrad_platform_config_set_intra_op_parallelism_threads)
constant_initializer: TypeAlias = _dualgrad_keras_initializers_Constant
def cos(x: TensorLike, name: str | None = ...) -> Tensor: ...
def cosh(x: TensorLike, name: str | None = ...) -> Tensor: ...
def cumsum(x: TensorLike, axis: Any = ..., exclusive: Any = ..., reverse: Any = ..., name: str | None = ...) -> Tensor: ...
data = _tape_api_data
class _debugging:
    InvalidArgumentError: TypeAlias = _engine_runtime_errors_InvalidArgumentError
    NUMERIC: Any
    Operand: TypeAlias = _engine_core_operands_Operand
    ShapeError: TypeAlias = _engine_runtime_errors_ShapeError
    Value: TypeAlias = _engine_core_value_Value
    assert_all_finite = staticmethod(_tape_api_debugging_assert_all_finite)
    assert_equal = staticmethod(_tape_api_debugging_assert_equal)
    assert_greater = staticmethod(_tape_api_debugging_assert_greater)
    assert_greater_equal = staticmethod(_tape_api_debugging_assert_greater_equal)
    assert_less = staticmethod(_tape_api_debugging_assert_less)
    assert_less_equal = staticmethod(_tape_api_debugging_assert_less_equal)
    assert_near = staticmethod(_tape_api_debugging_assert_near)
    assert_non_negative = staticmethod(_tape_api_debugging_assert_non_negative)
    assert_none_equal = staticmethod(_tape_api_debugging_assert_none_equal)
    assert_positive = staticmethod(_tape_api_debugging_assert_positive)
    assert_rank = staticmethod(_tape_api_debugging_assert_rank)
    check_numerics = staticmethod(_tape_api_debugging_check_numerics)
    checked = _engine_ops_checked
    convert_to_tensor = staticmethod(_tape_api_tensor_convert_to_tensor)
    disable_check_numerics = staticmethod(_engine_explain_check_numerics_disable_check_numerics)
    enable_check_numerics = staticmethod(_engine_explain_check_numerics_enable_check_numerics)
    ensure_shape = staticmethod(_tape_api_debugging_ensure_shape)
    is_numeric_tensor = staticmethod(_tape_api_debugging_is_numeric_tensor)
    tensor_text = staticmethod(_tape_api_printing_tensor_text)
    tf: Any
debugging: TypeAlias = _debugging
distribute = _tape_api_distribute
def divide(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
double: _DType
class dtypes:
    DType: TypeAlias = _engine_core_dtypes_DType
    as_dtype = staticmethod(_engine_core_dtypes_as_dtype)
    bool: _DType
    @staticmethod
    def cast(x: TensorLike, dtype: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def complex(real: TensorLike, imag: TensorLike, name: str | None = ...) -> Tensor: ...
    complex128: _DType
    complex64: _DType
    double: _DType
    float16: _DType
    float32: _DType
    float64: _DType
    half: _DType
    int16: _DType
    int32: _DType
    int64: _DType
    int8: _DType
    string: _DType
    uint16: _DType
    uint32: _DType
    uint64: _DType
    uint8: _DType
def dynamic_partition(data: TensorLike, partitions: TensorLike, num_partitions: Any, name: str | None = ...) -> builtins.list[Tensor]: ...
def dynamic_stitch(indices: TensorLike, data: TensorLike, name: str | None = ...) -> Tensor: ...
def eig(*args: Any, **kwargs: Any) -> Any: ...
def eigvals(*args: Any, **kwargs: Any) -> Any: ...
def einsum(equation: Any, *inputs: TensorLike, name: str | None = ...) -> Tensor: ...
def equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
errors = _engine_runtime_errors
def exp(x: TensorLike, name: str | None = ...) -> Tensor: ...
def expand_dims(input: TensorLike, axis: Any, name: str | None = ...) -> Tensor: ...
class experimental:
    numpy = _dualgrad_extras_numpy_names
def eye(num_rows: Any, num_columns: Any = ..., batch_shape: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
def fill(dims: Any, value: TensorLike, name: str | None = ...) -> Tensor: ...
float16: _DType
float32: _DType
float64: _DType
def floor(x: TensorLike, name: str | None = ...) -> Tensor: ...
def gather(params: TensorLike, indices: TensorLike, validate_indices: Any = ..., axis: Any = ..., batch_dims: Any = ..., name: str | None = ...) -> Tensor: ...
def gather_nd(params: TensorLike, indices: TensorLike, batch_dims: Any = ..., name: str | None = ...) -> Tensor: ...
def greater(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def greater_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
half: _DType
def identity(input: TensorLike, name: str | None = ...) -> Tensor: ...
def identity_n(input: TensorLike, name: str | None = ...) -> builtins.list[Tensor]: ...
class image:
    ResizeMethod: TypeAlias = _dualgrad_frontend_methods_ResizeMethod
    @staticmethod
    def adjust_brightness(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def adjust_contrast(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def adjust_gamma(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def adjust_hue(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def adjust_saturation(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def central_crop(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def convert_image_dtype(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def crop_and_resize(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def crop_to_bounding_box(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_image(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_jpeg(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_png(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def encode_png(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def extract_patches(images: TensorLike, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def flip_left_right(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def flip_up_down(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def grayscale_to_rgb(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def hsv_to_rgb(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def image_gradients(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def pad_to_bounding_box(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def per_image_standardization(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def psnr(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def random_brightness(image: Any, max_delta: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def random_crop(value: Any, size: Any, seed: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def random_flip_left_right(image: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def random_flip_up_down(image: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def random_hue(image: Any, max_delta: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = ...) -> Tensor: ...
    @staticmethod
    def resize(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def resize_with_crop_or_pad(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def resize_with_pad(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def rgb_to_grayscale(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def rgb_to_hsv(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def rgb_to_yiq(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def rgb_to_yuv(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def rot90(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def sobel_edges(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def ssim(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def total_variation(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def transpose(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def yiq_to_rgb(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def yuv_to_rgb(*args: Any, **kwargs: Any) -> Any: ...
class _initializers:
    Constant: TypeAlias = _dualgrad_keras_initializers_Constant
    GlorotNormal: TypeAlias = _dualgrad_keras_initializers_GlorotNormal
    GlorotUniform: TypeAlias = _dualgrad_keras_initializers_GlorotUniform
    HeNormal: TypeAlias = _dualgrad_keras_initializers_HeNormal
    HeUniform: TypeAlias = _dualgrad_keras_initializers_HeUniform
    Identity: TypeAlias = _dualgrad_keras_initializers_Identity
    Initializer: TypeAlias = _dualgrad_keras_initializers_Initializer
    KNOWN: dict[Any, Any]
    LecunNormal: TypeAlias = _dualgrad_keras_initializers_LecunNormal
    LecunUniform: TypeAlias = _dualgrad_keras_initializers_LecunUniform
    Ones: TypeAlias = _dualgrad_keras_initializers_Ones
    Orthogonal: TypeAlias = _dualgrad_keras_initializers_Orthogonal
    RandomNormal: TypeAlias = _dualgrad_keras_initializers_RandomNormal
    RandomUniform: TypeAlias = _dualgrad_keras_initializers_RandomUniform
    TruncatedNormal: TypeAlias = _dualgrad_keras_initializers_TruncatedNormal
    VarianceScaling: TypeAlias = _dualgrad_keras_initializers_VarianceScaling
    Zeros: TypeAlias = _dualgrad_keras_initializers_Zeros
    constant: TypeAlias = _dualgrad_keras_initializers_Constant
    @staticmethod
    def get(*args: Any, **kwargs: Any) -> Any: ...
    glorot_normal: TypeAlias = _dualgrad_keras_initializers_GlorotNormal
    glorot_uniform: TypeAlias = _dualgrad_keras_initializers_GlorotUniform
    he_normal: TypeAlias = _dualgrad_keras_initializers_HeNormal
    he_uniform: TypeAlias = _dualgrad_keras_initializers_HeUniform
    identity: TypeAlias = _dualgrad_keras_initializers_Identity
    lecun_normal: TypeAlias = _dualgrad_keras_initializers_LecunNormal
    lecun_uniform: TypeAlias = _dualgrad_keras_initializers_LecunUniform
    ones: TypeAlias = _dualgrad_keras_initializers_Ones
    orthogonal: TypeAlias = _dualgrad_keras_initializers_Orthogonal
    random_normal: TypeAlias = _dualgrad_keras_initializers_RandomNormal
    random_uniform: TypeAlias = _dualgrad_keras_initializers_RandomUniform
    truncated_normal: TypeAlias = _dualgrad_keras_initializers_TruncatedNormal
    variance_scaling: TypeAlias = _dualgrad_keras_initializers_VarianceScaling
    zeros: TypeAlias = _dualgrad_keras_initializers_Zeros
initializers: TypeAlias = _initializers
int16: _DType
int32: _DType
int64: _DType
int8: _DType
class io:
    FixedLenFeature: TypeAlias = _dualgrad_data_parsing_FixedLenFeature
    FixedLenSequenceFeature: TypeAlias = _dualgrad_data_parsing_FixedLenSequenceFeature
    TFRecordWriter: TypeAlias = _dualgrad_files_records_RecordWriter
    VarLenFeature: TypeAlias = _dualgrad_data_parsing_VarLenFeature
    @staticmethod
    def decode_csv(records: Any, record_defaults: Any, field_delim: Any = ..., use_quote_delim: Any = ..., name: str | None = ..., na_value: Any = ..., select_cols: Any = ...) -> builtins.list[Tensor]: ...
    @staticmethod
    def decode_image(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_jpeg(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_png(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def decode_raw(input_bytes: Any, out_type: Any, little_endian: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def encode_png(*args: Any, **kwargs: Any) -> Any: ...
    class gfile:
        GFile: TypeAlias = _dualgrad_platform_gfile_GFile
        copy = staticmethod(_dualgrad_platform_gfile_copy)
        exists = staticmethod(_dualgrad_platform_gfile_exists)
        glob = staticmethod(_dualgrad_platform_gfile_glob)
        isdir = staticmethod(_dualgrad_platform_gfile_isdir)
        join = staticmethod(_dualgrad_platform_gfile_join)
        listdir = staticmethod(_dualgrad_platform_gfile_listdir)
        makedirs = staticmethod(_dualgrad_platform_gfile_makedirs)
        mkdir = staticmethod(_dualgrad_platform_gfile_mkdir)
        remove = staticmethod(_dualgrad_platform_gfile_remove)
        rename = staticmethod(_dualgrad_platform_gfile_rename)
        rmtree = staticmethod(_dualgrad_platform_gfile_rmtree)
        stat = staticmethod(_dualgrad_platform_gfile_stat)
        walk = staticmethod(_dualgrad_platform_gfile_walk)
    @staticmethod
    def parse_example(serialized: Any, features: Any, example_names: Any = ..., name: str | None = ...) -> dict[str, Tensor]: ...
    @staticmethod
    def parse_single_example(serialized: Any, features: Any, example_names: Any = ..., name: str | None = ...) -> dict[str, Tensor]: ...
    @staticmethod
    def read_file(*args: Any, **kwargs: Any) -> Any: ...
class _keras:
    Input: TypeAlias = _dualgrad_keras_layers_core_Input
    Model: TypeAlias = _dualgrad_keras_models_Model
    Sequential: TypeAlias = _dualgrad_keras_models_Sequential
    class _activations:
        KNOWN: dict[Any, Any]
        @staticmethod
        def elu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def exponential(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def gelu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def hard_sigmoid(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def hard_silu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def leaky_relu(*args: Any, **kwargs: Any) -> Any: ...
        linear = staticmethod(_dualgrad_keras_activations_linear)
        @staticmethod
        def log_softmax(*args: Any, **kwargs: Any) -> Any: ...
        logits_of = staticmethod(_dualgrad_keras_activations_logits_of)
        @staticmethod
        def mish(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def relu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def relu6(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def selu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sigmoid(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def silu(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def softmax(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def softplus(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def softsign(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def swish(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def tanh(*args: Any, **kwargs: Any) -> Any: ...
        with_logits = staticmethod(_dualgrad_keras_activations_with_logits)
    activations: TypeAlias = _activations
    class _backend:
        @staticmethod
        def abs(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def argmax(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def batch_flatten(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def cast(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def clear_session(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def clip(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def cos(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def ctc_batch_cost(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def dot(*args: Any, **kwargs: Any) -> Any: ...
        epsilon = staticmethod(_dualgrad_keras_settings_epsilon)
        @staticmethod
        def equal(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def exp(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def expand_dims(*args: Any, **kwargs: Any) -> Any: ...
        floatx = staticmethod(_dualgrad_keras_settings_floatx)
        @staticmethod
        def get_value(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def greater(*args: Any, **kwargs: Any) -> Any: ...
        int_shape = staticmethod(_dualgrad_keras_settings_int_shape)
        @staticmethod
        def less(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def log(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def max(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def maximum(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mean(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def min(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def minimum(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def not_equal(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def ones_like(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def pow(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def reshape(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def round(*args: Any, **kwargs: Any) -> Any: ...
        set_epsilon = staticmethod(_dualgrad_keras_settings_set_epsilon)
        set_floatx = staticmethod(_dualgrad_keras_settings_set_floatx)
        @staticmethod
        def set_value(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def shape(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sigmoid(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sign(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sin(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def softmax(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sqrt(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def square(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def stop_gradient(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sum(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def tanh(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def transpose(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def var(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def zeros_like(*args: Any, **kwargs: Any) -> Any: ...
    backend: TypeAlias = _backend
    class _callbacks:
        CSVLogger: TypeAlias = _dualgrad_keras_callbacks_CSVLogger
        Callback: TypeAlias = _dualgrad_keras_callbacks_Callback
        EarlyStopping: TypeAlias = _dualgrad_keras_callbacks_EarlyStopping
        History: TypeAlias = _dualgrad_keras_callbacks_History
        LambdaCallback: TypeAlias = _dualgrad_keras_callbacks_LambdaCallback
        LearningRateScheduler: TypeAlias = _dualgrad_keras_callbacks_LearningRateScheduler
        ModelCheckpoint: TypeAlias = _dualgrad_keras_callbacks_ModelCheckpoint
        ReduceLROnPlateau: TypeAlias = _dualgrad_keras_callbacks_ReduceLROnPlateau
        TensorBoard: TypeAlias = _tape_api_board_TensorBoard
        TerminateOnNaN: TypeAlias = _dualgrad_keras_callbacks_TerminateOnNaN
    callbacks: TypeAlias = _callbacks
    class _constraints:
        Constraint: TypeAlias = _dualgrad_keras_constraints_Constraint
        KNOWN: dict[Any, Any]
        MaxNorm: TypeAlias = _dualgrad_keras_constraints_MaxNorm
        MinMaxNorm: TypeAlias = _dualgrad_keras_constraints_MinMaxNorm
        NonNeg: TypeAlias = _dualgrad_keras_constraints_NonNeg
        UnitNorm: TypeAlias = _dualgrad_keras_constraints_UnitNorm
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        max_norm: TypeAlias = _dualgrad_keras_constraints_MaxNorm
        min_max_norm: TypeAlias = _dualgrad_keras_constraints_MinMaxNorm
        non_neg: TypeAlias = _dualgrad_keras_constraints_NonNeg
        unit_norm: TypeAlias = _dualgrad_keras_constraints_UnitNorm
    constraints: TypeAlias = _constraints
    datasets = _dualgrad_keras_datasets
    class _initializers:
        Constant: TypeAlias = _dualgrad_keras_initializers_Constant
        GlorotNormal: TypeAlias = _dualgrad_keras_initializers_GlorotNormal
        GlorotUniform: TypeAlias = _dualgrad_keras_initializers_GlorotUniform
        HeNormal: TypeAlias = _dualgrad_keras_initializers_HeNormal
        HeUniform: TypeAlias = _dualgrad_keras_initializers_HeUniform
        Identity: TypeAlias = _dualgrad_keras_initializers_Identity
        Initializer: TypeAlias = _dualgrad_keras_initializers_Initializer
        KNOWN: dict[Any, Any]
        LecunNormal: TypeAlias = _dualgrad_keras_initializers_LecunNormal
        LecunUniform: TypeAlias = _dualgrad_keras_initializers_LecunUniform
        Ones: TypeAlias = _dualgrad_keras_initializers_Ones
        Orthogonal: TypeAlias = _dualgrad_keras_initializers_Orthogonal
        RandomNormal: TypeAlias = _dualgrad_keras_initializers_RandomNormal
        RandomUniform: TypeAlias = _dualgrad_keras_initializers_RandomUniform
        TruncatedNormal: TypeAlias = _dualgrad_keras_initializers_TruncatedNormal
        VarianceScaling: TypeAlias = _dualgrad_keras_initializers_VarianceScaling
        Zeros: TypeAlias = _dualgrad_keras_initializers_Zeros
        constant: TypeAlias = _dualgrad_keras_initializers_Constant
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        glorot_normal: TypeAlias = _dualgrad_keras_initializers_GlorotNormal
        glorot_uniform: TypeAlias = _dualgrad_keras_initializers_GlorotUniform
        he_normal: TypeAlias = _dualgrad_keras_initializers_HeNormal
        he_uniform: TypeAlias = _dualgrad_keras_initializers_HeUniform
        identity: TypeAlias = _dualgrad_keras_initializers_Identity
        lecun_normal: TypeAlias = _dualgrad_keras_initializers_LecunNormal
        lecun_uniform: TypeAlias = _dualgrad_keras_initializers_LecunUniform
        ones: TypeAlias = _dualgrad_keras_initializers_Ones
        orthogonal: TypeAlias = _dualgrad_keras_initializers_Orthogonal
        random_normal: TypeAlias = _dualgrad_keras_initializers_RandomNormal
        random_uniform: TypeAlias = _dualgrad_keras_initializers_RandomUniform
        truncated_normal: TypeAlias = _dualgrad_keras_initializers_TruncatedNormal
        variance_scaling: TypeAlias = _dualgrad_keras_initializers_VarianceScaling
        zeros: TypeAlias = _dualgrad_keras_initializers_Zeros
    initializers: TypeAlias = _initializers
    class _layers:
        Activation: TypeAlias = _dualgrad_keras_layers_core_Activation
        ActivityRegularization: TypeAlias = _dualgrad_keras_layers_shaping_ActivityRegularization
        Add: TypeAlias = _dualgrad_keras_layers_merging_Add
        AdditiveAttention: TypeAlias = _dualgrad_keras_layers_attention_AdditiveAttention
        Attention: TypeAlias = _dualgrad_keras_layers_attention_Attention
        Average: TypeAlias = _dualgrad_keras_layers_merging_Average
        AveragePooling1D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling1D
        AveragePooling2D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling2D
        AveragePooling3D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling3D
        AvgPool1D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling1D
        AvgPool2D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling2D
        AvgPool3D: TypeAlias = _dualgrad_keras_layers_pooling_AveragePooling3D
        BatchNormalization: TypeAlias = _dualgrad_keras_layers_normalization_BatchNormalization
        Bidirectional: TypeAlias = _dualgrad_keras_layers_recurrent_Bidirectional
        CategoryEncoding: TypeAlias = _dualgrad_keras_layers_preprocessing_CategoryEncoding
        Concatenate: TypeAlias = _dualgrad_keras_layers_merging_Concatenate
        Conv1D: TypeAlias = _dualgrad_keras_layers_convolution_Conv1D
        Conv1DTranspose: TypeAlias = _dualgrad_keras_layers_convolution_Conv1DTranspose
        Conv2D: TypeAlias = _dualgrad_keras_layers_convolution_Conv2D
        Conv2DTranspose: TypeAlias = _dualgrad_keras_layers_convolution_Conv2DTranspose
        Conv3D: TypeAlias = _dualgrad_keras_layers_convolution_Conv3D
        Conv3DTranspose: TypeAlias = _dualgrad_keras_layers_convolution_Conv3DTranspose
        Convolution1D: TypeAlias = _dualgrad_keras_layers_convolution_Conv1D
        Convolution2D: TypeAlias = _dualgrad_keras_layers_convolution_Conv2D
        Convolution2DTranspose: TypeAlias = _dualgrad_keras_layers_convolution_Conv2DTranspose
        Convolution3D: TypeAlias = _dualgrad_keras_layers_convolution_Conv3D
        Convolution3DTranspose: TypeAlias = _dualgrad_keras_layers_convolution_Conv3DTranspose
        Cropping1D: TypeAlias = _dualgrad_keras_layers_shaping_Cropping1D
        Cropping2D: TypeAlias = _dualgrad_keras_layers_shaping_Cropping2D
        Cropping3D: TypeAlias = _dualgrad_keras_layers_shaping_Cropping3D
        Dense: TypeAlias = _dualgrad_keras_layers_core_Dense
        DepthwiseConv2D: TypeAlias = _dualgrad_keras_layers_convolution_DepthwiseConv2D
        Dot: TypeAlias = _dualgrad_keras_layers_merging_Dot
        Dropout: TypeAlias = _dualgrad_keras_layers_core_Dropout
        ELU: TypeAlias = _dualgrad_keras_layers_shaping_ELU
        EinsumDense: TypeAlias = _dualgrad_keras_layers_attention_EinsumDense
        Embedding: TypeAlias = _dualgrad_keras_layers_core_Embedding
        Flatten: TypeAlias = _dualgrad_keras_layers_core_Flatten
        GRU: TypeAlias = _dualgrad_keras_layers_recurrent_GRU
        GRUCell: TypeAlias = _dualgrad_keras_layers_cells_GRUCell
        GaussianDropout: TypeAlias = _dualgrad_keras_layers_shaping_GaussianDropout
        GaussianNoise: TypeAlias = _dualgrad_keras_layers_shaping_GaussianNoise
        GlobalAveragePooling1D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling1D
        GlobalAveragePooling2D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling2D
        GlobalAveragePooling3D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling3D
        GlobalAvgPool1D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling1D
        GlobalAvgPool2D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling2D
        GlobalAvgPool3D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalAveragePooling3D
        GlobalMaxPool1D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling1D
        GlobalMaxPool2D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling2D
        GlobalMaxPool3D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling3D
        GlobalMaxPooling1D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling1D
        GlobalMaxPooling2D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling2D
        GlobalMaxPooling3D: TypeAlias = _dualgrad_keras_layers_pooling_GlobalMaxPooling3D
        Identity: TypeAlias = _dualgrad_keras_layers_preprocessing_Identity
        Input: TypeAlias = _dualgrad_keras_layers_core_Input
        InputLayer: TypeAlias = _dualgrad_keras_layers_core_InputLayer
        LSTM: TypeAlias = _dualgrad_keras_layers_recurrent_LSTM
        LSTMCell: TypeAlias = _dualgrad_keras_layers_cells_LSTMCell
        Lambda: TypeAlias = _dualgrad_keras_layers_core_Lambda
        Layer: TypeAlias = _dualgrad_keras_layers_base_Layer
        LayerNormalization: TypeAlias = _dualgrad_keras_layers_normalization_LayerNormalization
        LeakyReLU: TypeAlias = _dualgrad_keras_layers_core_LeakyReLU
        Masking: TypeAlias = _dualgrad_keras_layers_core_Masking
        MaxPool1D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling1D
        MaxPool2D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling2D
        MaxPool3D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling3D
        MaxPooling1D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling1D
        MaxPooling2D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling2D
        MaxPooling3D: TypeAlias = _dualgrad_keras_layers_pooling_MaxPooling3D
        Maximum: TypeAlias = _dualgrad_keras_layers_merging_Maximum
        Minimum: TypeAlias = _dualgrad_keras_layers_merging_Minimum
        MultiHeadAttention: TypeAlias = _dualgrad_keras_layers_attention_MultiHeadAttention
        Multiply: TypeAlias = _dualgrad_keras_layers_merging_Multiply
        Normalization: TypeAlias = _dualgrad_keras_layers_preprocessing_Normalization
        PReLU: TypeAlias = _dualgrad_keras_layers_shaping_PReLU
        Permute: TypeAlias = _dualgrad_keras_layers_shaping_Permute
        RNN: TypeAlias = _dualgrad_keras_layers_recurrent_RNN
        ReLU: TypeAlias = _dualgrad_keras_layers_core_ReLU
        RepeatVector: TypeAlias = _dualgrad_keras_layers_shaping_RepeatVector
        Rescaling: TypeAlias = _dualgrad_keras_layers_preprocessing_Rescaling
        Reshape: TypeAlias = _dualgrad_keras_layers_core_Reshape
        SeparableConv1D: TypeAlias = _dualgrad_keras_layers_convolution_SeparableConv1D
        SeparableConv2D: TypeAlias = _dualgrad_keras_layers_convolution_SeparableConv2D
        SeparableConvolution1D: TypeAlias = _dualgrad_keras_layers_convolution_SeparableConv1D
        SeparableConvolution2D: TypeAlias = _dualgrad_keras_layers_convolution_SeparableConv2D
        SimpleRNN: TypeAlias = _dualgrad_keras_layers_recurrent_SimpleRNN
        SimpleRNNCell: TypeAlias = _dualgrad_keras_layers_cells_SimpleRNNCell
        Softmax: TypeAlias = _dualgrad_keras_layers_core_Softmax
        SpatialDropout1D: TypeAlias = _dualgrad_keras_layers_shaping_SpatialDropout1D
        SpatialDropout2D: TypeAlias = _dualgrad_keras_layers_shaping_SpatialDropout2D
        SpatialDropout3D: TypeAlias = _dualgrad_keras_layers_shaping_SpatialDropout3D
        StackedRNNCells: TypeAlias = _dualgrad_keras_layers_recurrent_StackedRNNCells
        Subtract: TypeAlias = _dualgrad_keras_layers_merging_Subtract
        TimeDistributed: TypeAlias = _dualgrad_keras_layers_recurrent_TimeDistributed
        UpSampling1D: TypeAlias = _dualgrad_keras_layers_shaping_UpSampling1D
        UpSampling2D: TypeAlias = _dualgrad_keras_layers_shaping_UpSampling2D
        UpSampling3D: TypeAlias = _dualgrad_keras_layers_shaping_UpSampling3D
        ZeroPadding1D: TypeAlias = _dualgrad_keras_layers_shaping_ZeroPadding1D
        ZeroPadding2D: TypeAlias = _dualgrad_keras_layers_shaping_ZeroPadding2D
        ZeroPadding3D: TypeAlias = _dualgrad_keras_layers_shaping_ZeroPadding3D
        @staticmethod
        def add(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def average(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def concatenate(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def dot(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def maximum(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def minimum(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def multiply(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def subtract(*args: Any, **kwargs: Any) -> Any: ...
    layers: TypeAlias = _layers
    class _losses:
        BinaryCrossentropy: TypeAlias = _dualgrad_keras_losses_BinaryCrossentropy
        CLASSES: dict[Any, Any]
        CategoricalCrossentropy: TypeAlias = _dualgrad_keras_losses_CategoricalCrossentropy
        CategoricalHinge: TypeAlias = _dualgrad_keras_losses_CategoricalHinge
        CosineSimilarity: TypeAlias = _dualgrad_keras_losses_CosineSimilarity
        FUNCTIONS: dict[Any, Any]
        Hinge: TypeAlias = _dualgrad_keras_losses_Hinge
        Huber: TypeAlias = _dualgrad_keras_losses_Huber
        @staticmethod
        def KLD(*args: Any, **kwargs: Any) -> Any: ...
        KLDivergence: TypeAlias = _dualgrad_keras_losses_KLDivergence
        LogCosh: TypeAlias = _dualgrad_keras_losses_LogCosh
        Loss: TypeAlias = _dualgrad_keras_losses_Loss
        LossFunctionWrapper: TypeAlias = _dualgrad_keras_losses_LossFunctionWrapper
        @staticmethod
        def MAE(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def MAPE(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def MSE(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def MSLE(*args: Any, **kwargs: Any) -> Any: ...
        MeanAbsoluteError: TypeAlias = _dualgrad_keras_losses_MeanAbsoluteError
        MeanAbsolutePercentageError: TypeAlias = _dualgrad_keras_losses_MeanAbsolutePercentageError
        MeanSquaredError: TypeAlias = _dualgrad_keras_losses_MeanSquaredError
        MeanSquaredLogarithmicError: TypeAlias = _dualgrad_keras_losses_MeanSquaredLogarithmicError
        Poisson: TypeAlias = _dualgrad_keras_losses_Poisson
        Reduction: TypeAlias = _dualgrad_keras_losses_Reduction
        SparseCategoricalCrossentropy: TypeAlias = _dualgrad_keras_losses_SparseCategoricalCrossentropy
        SquaredHinge: TypeAlias = _dualgrad_keras_losses_SquaredHinge
        @staticmethod
        def binary_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def categorical_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def categorical_hinge(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def cosine_similarity(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def hinge(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def huber(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def kl_divergence(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def kld(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def kullback_leibler_divergence(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def log_cosh(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def logcosh(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mae(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mape(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mean_absolute_error(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mean_absolute_percentage_error(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mean_squared_error(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mean_squared_logarithmic_error(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def mse(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def msle(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def poisson(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sparse_categorical_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def squared_hinge(*args: Any, **kwargs: Any) -> Any: ...
    losses: TypeAlias = _losses
    class _metrics:
        AUC: TypeAlias = _dualgrad_keras_metrics_decisions_AUC
        Accuracy: TypeAlias = _dualgrad_keras_metrics_means_Accuracy
        BinaryAccuracy: TypeAlias = _dualgrad_keras_metrics_means_BinaryAccuracy
        BinaryCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_BinaryCrossentropy
        CategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_CategoricalAccuracy
        CategoricalCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_CategoricalCrossentropy
        CategoricalHinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        CosineSimilarity: TypeAlias = _dualgrad_keras_metrics_means_CosineSimilarity
        F1Score: TypeAlias = _dualgrad_keras_metrics_decisions_F1Score
        FBetaScore: TypeAlias = _dualgrad_keras_metrics_decisions_FBetaScore
        FalseNegatives: TypeAlias = _dualgrad_keras_metrics_decisions_FalseNegatives
        FalsePositives: TypeAlias = _dualgrad_keras_metrics_decisions_FalsePositives
        Hinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        KLDivergence: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        KNOWN: dict[Any, Any]
        LogCoshError: TypeAlias = _dualgrad_keras_metrics_means_LogCoshError
        Mean: TypeAlias = _dualgrad_keras_metrics_means_Mean
        MeanAbsoluteError: TypeAlias = _dualgrad_keras_metrics_means_MeanAbsoluteError
        MeanAbsolutePercentageError: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        MeanIoU: TypeAlias = _dualgrad_keras_metrics_decisions_MeanIoU
        MeanMetricWrapper: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        MeanSquaredError: TypeAlias = _dualgrad_keras_metrics_means_MeanSquaredError
        MeanSquaredLogarithmicError: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        Metric: TypeAlias = _dualgrad_keras_metrics_means_Metric
        Poisson: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        Precision: TypeAlias = _dualgrad_keras_metrics_decisions_Precision
        Recall: TypeAlias = _dualgrad_keras_metrics_decisions_Recall
        RootMeanSquaredError: TypeAlias = _dualgrad_keras_metrics_means_RootMeanSquaredError
        SparseCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_SparseCategoricalAccuracy
        SparseCategoricalCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_SparseCategoricalCrossentropy
        SparseTopKCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_SparseTopKCategoricalAccuracy
        SquaredHinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
        Sum: TypeAlias = _dualgrad_keras_metrics_means_Sum
        TopKCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_TopKCategoricalAccuracy
        TrueNegatives: TypeAlias = _dualgrad_keras_metrics_decisions_TrueNegatives
        TruePositives: TypeAlias = _dualgrad_keras_metrics_decisions_TruePositives
        @staticmethod
        def accuracy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def binary_accuracy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sparse_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def sparse_top_k_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def top_k_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
    metrics: TypeAlias = _metrics
    class _models:
        Functional: TypeAlias = _dualgrad_keras_models_Functional
        Model: TypeAlias = _dualgrad_keras_models_Model
        Sequential: TypeAlias = _dualgrad_keras_models_Sequential
        @staticmethod
        def clone_model(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def load_model(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def model_from_config(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def model_from_json(*args: Any, **kwargs: Any) -> Any: ...
        save_model = staticmethod(_tape_api_model_files_save_model)
    models: TypeAlias = _models
    optimizers = _tape_api_keras_optimizers
    preprocessing = _dualgrad_keras_preprocessing
    class _regularizers:
        KNOWN: dict[Any, Any]
        L1: TypeAlias = _dualgrad_keras_regularizers_L1
        L1L2: TypeAlias = _dualgrad_keras_regularizers_L1L2
        L2: TypeAlias = _dualgrad_keras_regularizers_L2
        Regularizer: TypeAlias = _dualgrad_keras_regularizers_Regularizer
        @staticmethod
        def get(*args: Any, **kwargs: Any) -> Any: ...
        l1: TypeAlias = _dualgrad_keras_regularizers_L1
        l1_l2: TypeAlias = _dualgrad_keras_regularizers_L1L2
        l2: TypeAlias = _dualgrad_keras_regularizers_L2
    regularizers: TypeAlias = _regularizers
    class _utils:
        CustomObjectScope = staticmethod(_dualgrad_keras_utils_custom_object_scope)
        Progbar: TypeAlias = _dualgrad_keras_progress_Progbar
        PyDataset: TypeAlias = _dualgrad_keras_batches_Sequence
        Sequence: TypeAlias = _dualgrad_keras_batches_Sequence
        array_to_img = staticmethod(_dualgrad_keras_picture_files_array_to_img)
        custom_object_scope = staticmethod(_dualgrad_keras_utils_custom_object_scope)
        get_custom_objects = staticmethod(_dualgrad_keras_utils_get_custom_objects)
        get_file = staticmethod(_dualgrad_keras_downloads_get_file)
        img_to_array = staticmethod(_dualgrad_keras_picture_files_img_to_array)
        load_img = staticmethod(_dualgrad_keras_picture_files_load_img)
        make_sampling_table = staticmethod(_dualgrad_keras_preprocessing_sequence_make_sampling_table)
        pad_sequences = staticmethod(_dualgrad_keras_preprocessing_sequence_pad_sequences)
        register_keras_serializable = staticmethod(_dualgrad_keras_utils_register_keras_serializable)
        save_img = staticmethod(_dualgrad_keras_picture_files_save_img)
        @staticmethod
        def set_random_seed(*args: Any, **kwargs: Any) -> Any: ...
        skipgrams = staticmethod(_dualgrad_keras_preprocessing_sequence_skipgrams)
        to_categorical = staticmethod(_dualgrad_keras_utils_to_categorical)
    utils: TypeAlias = _utils
keras: TypeAlias = _keras
def less(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def less_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
class linalg:
    @staticmethod
    def adjoint(matrix: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def band_part(input: TensorLike, num_lower: Any, num_upper: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cholesky(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cross(a: TensorLike, b: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def det(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def diag(diagonal: TensorLike, name: str | None = ..., k: Any = ..., num_rows: Any = ..., num_cols: Any = ..., padding_value: Any = ..., align: Any = ...) -> Tensor: ...
    @staticmethod
    def diag_part(input: TensorLike, name: str | None = ..., k: Any = ..., padding_value: Any = ..., align: Any = ...) -> Tensor: ...
    @staticmethod
    def eig(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def eigh(tensor: TensorLike, name: str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
    @staticmethod
    def eigh_tridiagonal(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def eigvals(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def eigvalsh(tensor: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def einsum(equation: Any, *inputs: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def expm(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def eye(num_rows: Any, num_columns: Any = ..., batch_shape: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def global_norm(t_list: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def inv(input: TensorLike, adjoint: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def l2_normalize(x: TensorLike, axis: Any = ..., epsilon: Any = ..., name: str | None = ..., *, dim: Any = ...) -> Tensor: ...
    @staticmethod
    def logdet(matrix: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def lstsq(matrix: TensorLike, rhs: TensorLike, l2_regularizer: Any = ..., fast: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def lu(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def lu_matrix_inverse(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def lu_reconstruct(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def lu_solve(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def matmul(a: TensorLike, b: TensorLike, transpose_a: Any = ..., transpose_b: Any = ..., adjoint_a: Any = ..., adjoint_b: Any = ..., a_is_sparse: Any = ..., b_is_sparse: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def matrix_rank(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def matrix_transpose(a: TensorLike, conjugate: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def matvec(a: TensorLike, b: TensorLike, transpose_a: Any = ..., adjoint_a: Any = ..., a_is_sparse: Any = ..., b_is_sparse: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def norm(tensor: TensorLike, ord: Any = ..., axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def normalize(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def pinv(a: TensorLike, rcond: Any = ..., validate_args: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def qr(input: TensorLike, full_matrices: Any = ..., name: str | None = ...) -> _Qr: ...
    @staticmethod
    def set_diag(input: TensorLike, diagonal: TensorLike, name: str | None = ..., k: Any = ..., align: Any = ...) -> Tensor: ...
    @staticmethod
    def slogdet(input: TensorLike, name: str | None = ...) -> _LogMatrixDeterminant: ...
    @staticmethod
    def solve(matrix: TensorLike, rhs: TensorLike, adjoint: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def svd(tensor: TensorLike, full_matrices: Any = ..., compute_uv: Any = ..., name: str | None = ...) -> builtins.tuple[Tensor, Tensor, Tensor] | Tensor: ...
    @staticmethod
    def tensor_diag(diagonal: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def tensor_diag_part(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def trace(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def triangular_solve(matrix: TensorLike, rhs: TensorLike, lower: Any = ..., adjoint: Any = ..., name: str | None = ...) -> Tensor: ...
def linspace(start: TensorLike, stop: TensorLike, num: Any, axis: Any = ..., name: str | None = ...) -> Tensor: ...
def log(x: TensorLike, name: str | None = ...) -> Tensor: ...
def logical_and(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def logical_not(x: TensorLike, name: str | None = ...) -> Tensor: ...
def logical_or(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
class losses:
    BinaryCrossentropy: TypeAlias = _dualgrad_keras_losses_BinaryCrossentropy
    CLASSES: dict[Any, Any]
    CategoricalCrossentropy: TypeAlias = _dualgrad_keras_losses_CategoricalCrossentropy
    CategoricalHinge: TypeAlias = _dualgrad_keras_losses_CategoricalHinge
    CosineSimilarity: TypeAlias = _dualgrad_keras_losses_CosineSimilarity
    FUNCTIONS: dict[Any, Any]
    Hinge: TypeAlias = _dualgrad_keras_losses_Hinge
    Huber: TypeAlias = _dualgrad_keras_losses_Huber
    @staticmethod
    def KLD(*args: Any, **kwargs: Any) -> Any: ...
    KLDivergence: TypeAlias = _dualgrad_keras_losses_KLDivergence
    LogCosh: TypeAlias = _dualgrad_keras_losses_LogCosh
    Loss: TypeAlias = _dualgrad_keras_losses_Loss
    LossFunctionWrapper: TypeAlias = _dualgrad_keras_losses_LossFunctionWrapper
    @staticmethod
    def MAE(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def MAPE(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def MSE(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def MSLE(*args: Any, **kwargs: Any) -> Any: ...
    MeanAbsoluteError: TypeAlias = _dualgrad_keras_losses_MeanAbsoluteError
    MeanAbsolutePercentageError: TypeAlias = _dualgrad_keras_losses_MeanAbsolutePercentageError
    MeanSquaredError: TypeAlias = _dualgrad_keras_losses_MeanSquaredError
    MeanSquaredLogarithmicError: TypeAlias = _dualgrad_keras_losses_MeanSquaredLogarithmicError
    Poisson: TypeAlias = _dualgrad_keras_losses_Poisson
    Reduction: TypeAlias = _dualgrad_keras_losses_Reduction
    SparseCategoricalCrossentropy: TypeAlias = _dualgrad_keras_losses_SparseCategoricalCrossentropy
    SquaredHinge: TypeAlias = _dualgrad_keras_losses_SquaredHinge
    @staticmethod
    def absolute_difference(labels: TensorLike, predictions: TensorLike, weights: TensorLike = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def binary_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def categorical_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def categorical_hinge(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def cosine_similarity(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def get(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def hinge(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def hinge_loss(labels: TensorLike, logits: TensorLike, weights: TensorLike = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def huber(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def huber_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = ..., delta: Any = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def kl_divergence(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def kld(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def kullback_leibler_divergence(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def log_cosh(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def log_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = ..., epsilon: Any = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def logcosh(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mae(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mape(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mean_absolute_error(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mean_absolute_percentage_error(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mean_squared_error(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mean_squared_logarithmic_error(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def mse(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def msle(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def poisson(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def sigmoid_cross_entropy(multi_class_labels: TensorLike, logits: TensorLike, weights: TensorLike = ..., label_smoothing: Any = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def softmax_cross_entropy(onehot_labels: TensorLike, logits: TensorLike, weights: TensorLike = ..., label_smoothing: Any = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def sparse_categorical_crossentropy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def sparse_softmax_cross_entropy(labels: TensorLike, logits: TensorLike, weights: TensorLike = ..., reduction: Any = ..., name: str | None = ..., *, scope: Any = ..., loss_collection: Any = ...) -> Tensor: ...
    @staticmethod
    def squared_hinge(*args: Any, **kwargs: Any) -> Any: ...
make_ndarray = _dualgrad_files_tensors_array_of
make_tensor_proto = _dualgrad_files_tensors_as_tensor_proto
class math:
    @staticmethod
    def abs(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def acos(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def acosh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def add(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def add_n(inputs: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def angle(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def argmax(input: TensorLike, axis: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def argmin(input: TensorLike, axis: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def asin(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def asinh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def atan(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def atan2(y: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def atanh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bessel_i0(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bessel_i0e(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bessel_i1(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bessel_i1e(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def ceil(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def confusion_matrix(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def conj(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cos(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cosh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def count_nonzero(input: TensorLike, axis: Any = ..., keepdims: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cumprod(x: TensorLike, axis: Any = ..., exclusive: Any = ..., reverse: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cumsum(x: TensorLike, axis: Any = ..., exclusive: Any = ..., reverse: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def cumulative_logsumexp(x: TensorLike, axis: Any = ..., exclusive: Any = ..., reverse: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def digamma(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def divide(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def erf(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def erfc(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def erfcinv(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def erfinv(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def exp(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def expm1(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def floor(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def floordiv(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def floormod(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def greater(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def greater_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def igamma(a: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def igammac(a: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def imag(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def in_top_k(targets: TensorLike, predictions: TensorLike, k: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def invert_permutation(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def is_finite(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def is_inf(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def is_nan(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def l2_normalize(x: TensorLike, axis: Any = ..., epsilon: Any = ..., name: str | None = ..., *, dim: Any = ...) -> Tensor: ...
    @staticmethod
    def lbeta(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def less(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def less_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def lgamma(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def log(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def log1p(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def log_sigmoid(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def log_softmax(logits: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def logical_and(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def logical_not(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def logical_or(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def logical_xor(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def maximum(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def minimum(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def mod(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def multiply(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def ndtri(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def negative(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def not_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def polygamma(a: TensorLike, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def polyval(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def pow(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def real(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reciprocal(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_all(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_any(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_euclidean_norm(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_logsumexp(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_max(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_mean(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_min(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_prod(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_std(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_sum(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def reduce_variance(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def rint(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def round(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def rsqrt(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def scalar_mul(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sigmoid(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sign(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sin(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sinh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softmax(logits: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softplus(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softsign(features: TensorLike, name: str | None = ...) -> Tensor: ...
    class special:
        @staticmethod
        def bessel_i0(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_i0e(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_i1(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_i1e(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_j0(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_j1(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_k0(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_k0e(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_k1(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_k1e(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_y0(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def bessel_y1(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def dawsn(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def expint(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def fresnel_cos(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def fresnel_sin(x: TensorLike, name: str | None = ...) -> Tensor: ...
        @staticmethod
        def spence(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sqrt(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def square(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def squared_difference(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def subtract(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def tan(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def tanh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def top_k(input: TensorLike, k: Any = ..., sorted: Any = ..., index_type: Any = ..., name: str | None = ...) -> _TopKV2: ...
    @staticmethod
    def truediv(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_max(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_mean(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_min(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_prod(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_sqrt_n(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def unsorted_segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def xdivy(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def xlog1py(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def xlogy(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def zero_fraction(value: TensorLike, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def zeta(x: TensorLike, q: TensorLike, name: str | None = ...) -> Tensor: ...
def matmul(a: TensorLike, b: TensorLike, transpose_a: Any = ..., transpose_b: Any = ..., adjoint_a: Any = ..., adjoint_b: Any = ..., a_is_sparse: Any = ..., b_is_sparse: Any = ..., output_type: Any = ..., name: str | None = ...) -> Tensor: ...
def maximum(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def meshgrid(*args: TensorLike, indexing: Any = ..., name: str | None = ...) -> builtins.list[Tensor]: ...
class _metrics:
    AUC: TypeAlias = _dualgrad_keras_metrics_decisions_AUC
    Accuracy: TypeAlias = _dualgrad_keras_metrics_means_Accuracy
    BinaryAccuracy: TypeAlias = _dualgrad_keras_metrics_means_BinaryAccuracy
    BinaryCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_BinaryCrossentropy
    CategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_CategoricalAccuracy
    CategoricalCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_CategoricalCrossentropy
    CategoricalHinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    CosineSimilarity: TypeAlias = _dualgrad_keras_metrics_means_CosineSimilarity
    F1Score: TypeAlias = _dualgrad_keras_metrics_decisions_F1Score
    FBetaScore: TypeAlias = _dualgrad_keras_metrics_decisions_FBetaScore
    FalseNegatives: TypeAlias = _dualgrad_keras_metrics_decisions_FalseNegatives
    FalsePositives: TypeAlias = _dualgrad_keras_metrics_decisions_FalsePositives
    Hinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    KLDivergence: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    KNOWN: dict[Any, Any]
    LogCoshError: TypeAlias = _dualgrad_keras_metrics_means_LogCoshError
    Mean: TypeAlias = _dualgrad_keras_metrics_means_Mean
    MeanAbsoluteError: TypeAlias = _dualgrad_keras_metrics_means_MeanAbsoluteError
    MeanAbsolutePercentageError: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    MeanIoU: TypeAlias = _dualgrad_keras_metrics_decisions_MeanIoU
    MeanMetricWrapper: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    MeanSquaredError: TypeAlias = _dualgrad_keras_metrics_means_MeanSquaredError
    MeanSquaredLogarithmicError: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    Metric: TypeAlias = _dualgrad_keras_metrics_means_Metric
    Poisson: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    Precision: TypeAlias = _dualgrad_keras_metrics_decisions_Precision
    Recall: TypeAlias = _dualgrad_keras_metrics_decisions_Recall
    RootMeanSquaredError: TypeAlias = _dualgrad_keras_metrics_means_RootMeanSquaredError
    SparseCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_SparseCategoricalAccuracy
    SparseCategoricalCrossentropy: TypeAlias = _dualgrad_keras_metrics_means_SparseCategoricalCrossentropy
    SparseTopKCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_SparseTopKCategoricalAccuracy
    SquaredHinge: TypeAlias = _dualgrad_keras_metrics_means_MeanMetricWrapper
    Sum: TypeAlias = _dualgrad_keras_metrics_means_Sum
    TopKCategoricalAccuracy: TypeAlias = _dualgrad_keras_metrics_means_TopKCategoricalAccuracy
    TrueNegatives: TypeAlias = _dualgrad_keras_metrics_decisions_TrueNegatives
    TruePositives: TypeAlias = _dualgrad_keras_metrics_decisions_TruePositives
    @staticmethod
    def accuracy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def binary_accuracy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def get(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def sparse_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def sparse_top_k_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def top_k_categorical_accuracy(*args: Any, **kwargs: Any) -> Any: ...
metrics: TypeAlias = _metrics
def minimum(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def multiply(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def negative(x: TensorLike, name: str | None = ...) -> Tensor: ...
nest = _engine_core_nest
newaxis: None
class nn:
    @staticmethod
    def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: Any, padding: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def avg_pool(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def avg_pool1d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def avg_pool2d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def avg_pool3d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def batch_normalization(x: TensorLike, mean: TensorLike, variance: TensorLike, offset: TensorLike = ..., scale: TensorLike = ..., variance_epsilon: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def bias_add(value: TensorLike, bias: TensorLike, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def compute_average_loss(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def conv1d(input: TensorLike, filters: TensorLike, stride: Any, padding: Any, data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def conv1d_transpose(input: TensorLike, filters: TensorLike, output_shape: Any, strides: Any, padding: Any = ..., data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def conv2d(input: TensorLike, filters: TensorLike, strides: Any, padding: Any, data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def conv2d_transpose(input: TensorLike, filters: TensorLike, output_shape: Any, strides: Any, padding: Any = ..., data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def conv3d(input: TensorLike, filters: TensorLike, strides: Any, padding: Any, data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def conv3d_transpose(input: TensorLike, filters: TensorLike, output_shape: Any, strides: Any, padding: Any = ..., data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def convolution(input: TensorLike, filters: TensorLike, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def crelu(features: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    ctc_beam_search_decoder = staticmethod(_tape_api_ctc_ctc_beam_search_decoder)
    ctc_greedy_decoder = staticmethod(_tape_api_ctc_ctc_greedy_decoder)
    ctc_loss = staticmethod(_tape_api_ctc_ctc_loss)
    @staticmethod
    def depth_to_space(input: TensorLike, block_size: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def depthwise_conv2d(input: TensorLike, filter: TensorLike, strides: Any, padding: Any, data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    dropout = staticmethod(_tape_api_random_dropout)
    @staticmethod
    def elu(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def embedding_lookup(params: TensorLike, ids: TensorLike, max_norm: Any = ..., partition_strategy: Any = ..., name: str | None = ...) -> Tensor: ...
    embedding_lookup_sparse = staticmethod(_tape_api_sparse_embedding_lookup_sparse)
    @staticmethod
    def gelu(features: TensorLike, approximate: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def in_top_k(targets: TensorLike, predictions: TensorLike, k: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def l2_loss(t: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def l2_normalize(x: TensorLike, axis: Any = ..., epsilon: Any = ..., name: str | None = ..., *, dim: Any = ...) -> Tensor: ...
    @staticmethod
    def leaky_relu(features: TensorLike, alpha: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def local_response_normalization(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def log_poisson_loss(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def log_softmax(logits: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def lrn(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def max_pool(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def max_pool1d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def max_pool2d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def max_pool3d(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def max_pool_with_argmax(input: TensorLike, ksize: Any, strides: Any, padding: Any, data_format: Any = ..., output_dtype: Any = ..., include_batch_in_index: Any = ..., name: str | None = ...) -> _MaxPoolWithArgmax: ...
    @staticmethod
    def moments(x: TensorLike, axes: Any, shift: Any = ..., keepdims: Any = ..., name: str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
    @staticmethod
    def nce_loss(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def normalize_moments(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def pool(input: TensorLike, window_shape: Any, pooling_type: Any, strides: Any = ..., padding: Any = ..., data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def relu(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def relu6(features: TensorLike, name: str | None = ...) -> Tensor: ...
    safe_embedding_lookup_sparse = staticmethod(_tape_api_sparse_safe_embedding_lookup_sparse)
    @staticmethod
    def sampled_softmax_loss(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def scale_regularization_loss(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def selu(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def separable_conv2d(input: TensorLike, depthwise_filter: TensorLike, pointwise_filter: TensorLike, strides: Any, padding: Any, data_format: Any = ..., dilations: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sigmoid(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sigmoid_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def silu(features: TensorLike, beta: TensorLike = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softmax(logits: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softplus(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def softsign(features: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def space_to_batch(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def space_to_depth(input: TensorLike, block_size: Any, data_format: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def sufficient_statistics(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def swish(features: TensorLike, beta: TensorLike = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def tanh(x: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def top_k(input: TensorLike, k: Any = ..., sorted: Any = ..., index_type: Any = ..., name: str | None = ...) -> _TopKV2: ...
    @staticmethod
    def weighted_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def weighted_moments(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def zero_fraction(value: TensorLike, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
def norm(tensor: TensorLike, ord: Any = ..., axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def not_equal(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def one_hot(indices: TensorLike, depth: Any, on_value: TensorLike = ..., off_value: TensorLike = ..., axis: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
def ones(shape: Any, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
ones_initializer: TypeAlias = _dualgrad_keras_initializers_Ones
def ones_like(input: TensorLike, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
optimizers = _tape_api_keras_optimizers
def pad(tensor: TensorLike, paddings: Any, mode: Any = ..., constant_values: Any = ..., name: str | None = ...) -> Tensor: ...
def pow(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
py_func = _tape_api_flow_numpy_function
class _random:
    Draws: TypeAlias = _tape_api_random_Draws
    EagerTensor: TypeAlias = _engine_core_eager_EagerTensor
    Generator: TypeAlias = _tape_api_random_Generator
    RESERVED: builtins.int
    SET: Any
    Streams: TypeAlias = _tape_api_random_Streams
    Variable: TypeAlias = _tape_api_variable_Variable
    active: Any
    as_dtype = staticmethod(_engine_core_dtypes_as_dtype)
    categorical = staticmethod(_tape_api_random_categorical)
    convert_to_tensor = staticmethod(_tape_api_tensor_convert_to_tensor)
    default_seed = staticmethod(_tape_api_random_default_seed)
    draws: Any
    dropout = staticmethod(_tape_api_random_dropout)
    dropouts = _engine_ops_dropout
    effect = staticmethod(_engine_core_detach_effect)
    exclusively = staticmethod(_engine_runtime_commit_exclusively)
    class experimental:
        Generator: TypeAlias = _tape_api_random_Generator
        @staticmethod
        def stateless_fold_in(*args: Any, **kwargs: Any) -> Any: ...
        @staticmethod
        def stateless_split(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def fixed_unigram_candidate_sampler(*args: Any, **kwargs: Any) -> Any: ...
    float32: _DType
    @staticmethod
    def fold_in(*args: Any, **kwargs: Any) -> Any: ...
    gamma = staticmethod(_tape_api_random_gamma)
    gather = staticmethod(_engine_ops_gather_gather)
    inside = staticmethod(_tape_api_random_inside)
    int64: _DType
    is_inside = staticmethod(_tape_api_random_is_inside)
    @staticmethod
    def log_uniform_candidate_sampler(*args: Any, **kwargs: Any) -> Any: ...
    namespace = staticmethod(_dualgrad_frontend_namespace_namespace)
    normal = staticmethod(_tape_api_random_normal)
    op_seeds = staticmethod(_tape_api_random_op_seeds)
    poisson = staticmethod(_tape_api_random_poisson)
    public = staticmethod(_tape_api_library_public)
    sampling = _engine_ops_random
    seed_pair = staticmethod(_dualgrad_frontend_seeds_seed_pair)
    set_seed = staticmethod(_tape_api_random_set_seed)
    shuffle = staticmethod(_tape_api_random_shuffle)
    @staticmethod
    def split(*args: Any, **kwargs: Any) -> Any: ...
    stack = staticmethod(_engine_ops_joining_stack)
    @staticmethod
    def stateless_categorical(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def stateless_gamma(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def stateless_normal(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def stateless_poisson(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def stateless_truncated_normal(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def stateless_uniform(*args: Any, **kwargs: Any) -> Any: ...
    truncated_normal = staticmethod(_tape_api_random_truncated_normal)
    uint64: _DType
    uniform = staticmethod(_tape_api_random_uniform)
    @staticmethod
    def uniform_candidate_sampler(*args: Any, **kwargs: Any) -> Any: ...
    wrapped = staticmethod(_tape_api_tensor_wrapped)
    @staticmethod
    def zeros_like(*args: Any, **kwargs: Any) -> Any: ...
random: TypeAlias = _random
random_normal = _tape_api_random_normal
random_normal_initializer: TypeAlias = _dualgrad_keras_initializers_RandomNormal
random_uniform_initializer: TypeAlias = _dualgrad_keras_initializers_RandomUniform
def range(start: Any, limit: Any = ..., delta: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
def rank(input: TensorLike, name: str | None = ...) -> Tensor: ...
def realdiv(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def reduce_all(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_any(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_logsumexp(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_max(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_mean(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_min(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_prod(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def reduce_sum(input_tensor: TensorLike, axis: Any = ..., keepdims: Any = ..., name: str | None = ...) -> Tensor: ...
def repeat(input: TensorLike, repeats: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
def reshape(tensor: TensorLike, shape: Any, name: str | None = ...) -> Tensor: ...
def reverse(tensor: TensorLike, axis: Any, name: str | None = ...) -> Tensor: ...
def reverse_sequence(input: TensorLike, seq_lengths: TensorLike, seq_axis: Any = ..., batch_axis: Any = ..., name: str | None = ...) -> Tensor: ...
def roll(input: TensorLike, shift: Any, axis: Any, name: str | None = ...) -> Tensor: ...
def round(x: TensorLike, name: str | None = ...) -> Tensor: ...
def scalar_mul(*args: Any, **kwargs: Any) -> Any: ...
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: Any, name: str | None = ...) -> Tensor: ...
def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: Any = ..., out_type: Any = ..., name: str | None = ...) -> Tensor: ...
def sequence_mask(lengths: TensorLike, maxlen: Any = ..., dtype: Any = ..., name: str | None = ...) -> Tensor: ...
set_random_seed = _tape_api_random_set_seed
def shape(input: TensorLike, out_type: Any = ..., name: str | None = ...) -> Tensor: ...
def shape_n(input: TensorLike, out_type: Any = ..., name: str | None = ...) -> builtins.list[Tensor]: ...
def sigmoid(x: TensorLike, name: str | None = ...) -> Tensor: ...
def sign(x: TensorLike, name: str | None = ...) -> Tensor: ...
class signal:
    @staticmethod
    def fft(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def fft2d(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def fft3d(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def ifft(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def ifft2d(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def ifft3d(input: TensorLike, name: str | None = ...) -> Tensor: ...
    @staticmethod
    def irfft(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def irfft2d(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def irfft3d(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def rfft(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def rfft2d(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
    @staticmethod
    def rfft3d(input_tensor: TensorLike, fft_length: Any = ..., name: str | None = ...) -> Tensor: ...
def sin(x: TensorLike, name: str | None = ...) -> Tensor: ...
def sinh(x: TensorLike, name: str | None = ...) -> Tensor: ...
def size(input: TensorLike, out_type: Any = ..., name: str | None = ...) -> Tensor: ...
def slice(input_: TensorLike, begin: Any, size: Any, name: str | None = ...) -> Tensor: ...
def sort(values: TensorLike, axis: Any = ..., direction: Any = ..., name: str | None = ...) -> Tensor: ...
def space_to_batch(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = ...) -> Tensor: ...
def space_to_batch_nd(input: TensorLike, block_shape: Any, paddings: Any, name: str | None = ...) -> Tensor: ...
class _sparse:
    SparseTensor: TypeAlias = _tape_api_sparse_SparseTensor
    add = staticmethod(_dualgrad_sparse_functions_add)
    concat = staticmethod(_dualgrad_sparse_functions_concat)
    expand_dims = staticmethod(_dualgrad_sparse_functions_expand_dims)
    @staticmethod
    def eye(num_rows: Any, num_columns: Any = ..., dtype: Any = ..., name: str | None = ...) -> SparseTensor: ...
    fill_empty_rows = staticmethod(_dualgrad_sparse_functions_fill_empty_rows)
    @staticmethod
    def from_dense(tensor: Any, name: str | None = ...) -> SparseTensor: ...
    map_values = staticmethod(_dualgrad_sparse_functions_map_values)
    maximum = staticmethod(_dualgrad_sparse_functions_maximum)
    minimum = staticmethod(_dualgrad_sparse_functions_minimum)
    reduce_max = staticmethod(_dualgrad_sparse_functions_reduce_max)
    reduce_sum = staticmethod(_dualgrad_sparse_functions_reduce_sum)
    reorder = staticmethod(_dualgrad_sparse_functions_reorder)
    reset_shape = staticmethod(_dualgrad_sparse_functions_reset_shape)
    reshape = staticmethod(_dualgrad_sparse_functions_reshape)
    retain = staticmethod(_dualgrad_sparse_functions_retain)
    segment_mean = staticmethod(_tape_api_sparse_segment_mean)
    segment_sqrt_n = staticmethod(_tape_api_sparse_segment_sqrt_n)
    segment_sum = staticmethod(_tape_api_sparse_segment_sum)
    slice = staticmethod(_dualgrad_sparse_functions_slice)
    softmax = staticmethod(_dualgrad_sparse_functions_softmax)
    sparse_dense_matmul = staticmethod(_dualgrad_sparse_functions_sparse_dense_matmul)
    split = staticmethod(_dualgrad_sparse_functions_split)
    to_dense = staticmethod(_dualgrad_sparse_functions_to_dense)
    to_indicator = staticmethod(_dualgrad_sparse_functions_to_indicator)
    transpose = staticmethod(_dualgrad_sparse_functions_transpose)
sparse: TypeAlias = _sparse
def split(value: TensorLike, num_or_size_splits: Any, axis: Any = ..., num: Any = ..., name: str | None = ...) -> builtins.list[Tensor]: ...
def sqrt(x: TensorLike, name: str | None = ...) -> Tensor: ...
def square(x: TensorLike, name: str | None = ...) -> Tensor: ...
def squeeze(input: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
def stack(values: TensorLike, axis: Any = ..., name: str | None = ...) -> Tensor: ...
def stop_gradient(input: TensorLike, name: str | None = ...) -> Tensor: ...
def strided_slice(input_: TensorLike, begin: Any, end: Any, strides: Any = ..., begin_mask: Any = ..., end_mask: Any = ..., ellipsis_mask: Any = ..., new_axis_mask: Any = ..., shrink_axis_mask: Any = ..., name: str | None = ...) -> Tensor: ...
string: _DType
class strings:
    @staticmethod
    def as_string(*args: Any, **kwargs: Any) -> Any: ...
    bytes_split = staticmethod(_tape_api_string_parts_bytes_split)
    @staticmethod
    def join(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def length(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def lower(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def reduce_join(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def regex_full_match(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def regex_replace(*args: Any, **kwargs: Any) -> Any: ...
    split = staticmethod(_tape_api_string_parts_split)
    @staticmethod
    def strip(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def substr(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def to_number(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def upper(*args: Any, **kwargs: Any) -> Any: ...
def subtract(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
summary = _tape_api_summary
def tan(x: TensorLike, name: str | None = ...) -> Tensor: ...
def tanh(x: TensorLike, name: str | None = ...) -> Tensor: ...
def tensor_scatter_nd_add(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = ...) -> Tensor: ...
def tensor_scatter_nd_max(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = ...) -> Tensor: ...
def tensor_scatter_nd_min(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = ...) -> Tensor: ...
def tensor_scatter_nd_sub(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = ...) -> Tensor: ...
def tensor_scatter_nd_update(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = ...) -> Tensor: ...
def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = ...) -> Tensor: ...
test = _tape_api_test
def tile(input: TensorLike, multiples: Any, name: str | None = ...) -> Tensor: ...
class _train:
    AdadeltaOptimizer: TypeAlias = _optim_adadelta_AdadeltaOptimizer
    AdagradDAOptimizer: TypeAlias = _optim_dual_averaging_AdagradDAOptimizer
    AdagradOptimizer: TypeAlias = _optim_adagrad_AdagradOptimizer
    AdamOptimizer: TypeAlias = _optim_adam_AdamOptimizer
    BytesList: TypeAlias = _dualgrad_files_protos_BytesList
    Checkpoint: TypeAlias = _tape_api_checkpoint_Checkpoint
    CheckpointManager: TypeAlias = _tape_api_checkpoint_CheckpointManager
    CheckpointReader: TypeAlias = _dualgrad_files_checkpoints_CheckpointReader
    Example: TypeAlias = _dualgrad_files_protos_Example
    ExponentialMovingAverage: TypeAlias = _optim_averages_ExponentialMovingAverage
    Feature: TypeAlias = _dualgrad_files_protos_Feature
    FeatureList: TypeAlias = _dualgrad_files_protos_FeatureList
    FeatureLists: TypeAlias = _dualgrad_files_protos_FeatureLists
    Features: TypeAlias = _dualgrad_files_protos_Features
    FloatList: TypeAlias = _dualgrad_files_protos_FloatList
    FtrlOptimizer: TypeAlias = _optim_ftrl_FtrlOptimizer
    GradientDescentOptimizer: TypeAlias = _optim_gradient_descent_GradientDescentOptimizer
    Int64List: TypeAlias = _dualgrad_files_protos_Int64List
    MomentumOptimizer: TypeAlias = _optim_momentum_MomentumOptimizer
    NewCheckpointReader: TypeAlias = _dualgrad_files_checkpoints_CheckpointReader
    Optimizer: TypeAlias = _optim_optimizer_Optimizer
    ProximalAdagradOptimizer: TypeAlias = _optim_proximal_ProximalAdagradOptimizer
    ProximalGradientDescentOptimizer: TypeAlias = _optim_proximal_ProximalGradientDescentOptimizer
    RMSPropOptimizer: TypeAlias = _optim_rmsprop_RMSPropOptimizer
    Saver: TypeAlias = _tape_api_saver_Saver
    SequenceExample: TypeAlias = _dualgrad_files_protos_SequenceExample
    checkpoint_exists = staticmethod(_dualgrad_files_checkpoints_exists)
    cosine_decay = staticmethod(_optim_schedules_cosine_decay)
    cosine_decay_restarts = staticmethod(_optim_schedules_cosine_decay_restarts)
    create_global_step = staticmethod(_tape_api_train_create_global_step)
    exponential_decay = staticmethod(_optim_schedules_exponential_decay)
    get_checkpoint_state = staticmethod(_dualgrad_files_checkpoints_get_state)
    get_global_step = staticmethod(_tape_api_train_get_global_step)
    get_or_create_global_step = staticmethod(_tape_api_train_get_or_create_global_step)
    inverse_time_decay = staticmethod(_optim_schedules_inverse_time_decay)
    latest_checkpoint = staticmethod(_dualgrad_files_checkpoints_latest)
    linear_cosine_decay = staticmethod(_optim_schedules_linear_cosine_decay)
    list_variables = staticmethod(_dualgrad_files_checkpoints_list_variables)
    load_checkpoint = staticmethod(_dualgrad_files_checkpoints_load_checkpoint)
    load_variable = staticmethod(_dualgrad_files_checkpoints_load_variable)
    natural_exp_decay = staticmethod(_optim_schedules_natural_exp_decay)
    piecewise_constant = staticmethod(_optim_schedules_piecewise_constant)
    polynomial_decay = staticmethod(_optim_schedules_polynomial_decay)
    summary_iterator = staticmethod(_dualgrad_files_events_summary_iterator)
train: TypeAlias = _train
transforms = _engine_function_transforms
def transpose(a: TensorLike, perm: Any = ..., conjugate: Any = ..., name: str | None = ...) -> Tensor: ...
def truediv(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def truncatediv(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
def truncatemod(x: TensorLike, y: TensorLike, name: str | None = ...) -> Tensor: ...
uint16: _DType
uint32: _DType
uint64: _DType
uint8: _DType
def unique(x: TensorLike, out_idx: Any = ..., name: str | None = ...) -> _Unique: ...
def unique_with_counts(x: TensorLike, out_idx: Any = ..., name: str | None = ...) -> _UniqueWithCounts: ...
def unstack(value: TensorLike, num: Any = ..., axis: Any = ..., name: str | None = ...) -> builtins.list[Tensor]: ...
def where(condition: TensorLike, x: TensorLike = ..., y: TensorLike = ..., name: str | None = ...) -> Tensor: ...
def zeros(shape: Any, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
zeros_initializer: TypeAlias = _dualgrad_keras_initializers_Zeros
def zeros_like(input: TensorLike, dtype: Any = ..., name: str | None = ...) -> Tensor: ...
__version__: str
