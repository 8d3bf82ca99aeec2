"""Layers by the names that TensorFlow's own modules have for them besides."""

from __future__ import annotations

from graph_api.legacy import layers

AvgPool1D, AvgPool2D, AvgPool3D = layers.AveragePooling1D, layers.AveragePooling2D, layers.AveragePooling3D
BatchNorm = layers.BatchNormalization
Convolution1D, Convolution2D, Convolution3D = layers.Conv1D, layers.Conv2D, layers.Conv3D
Convolution2DTranspose = Deconvolution2D = Deconv2D = layers.Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = layers.Conv3DTranspose
FullyConnected = layers.Dense
MaxPool1D, MaxPool2D, MaxPool3D = layers.MaxPooling1D, layers.MaxPooling2D, layers.MaxPooling3D
SeparableConvolution1D, SeparableConvolution2D = layers.SeparableConv1D, layers.SeparableConv2D
