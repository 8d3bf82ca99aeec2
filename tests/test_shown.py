"""Objects say in their repr what they hold."""

from __future__ import annotations

import re

import numpy as np

import tape_api as tf


def test_objects_say_what_they_hold() -> None:
    for made, said in (
        (tf.for_ode(lambda t, y: -y, np.ones(3)), r"<SciPyODE y0=float64\(3,\), banded=False>"),
        (tf.train.Checkpoint(v=tf.Variable(1.0)), r"<Checkpoint parts=1 in all>"),
        (tf.train.CheckpointManager(tf.train.Checkpoint(), "x", 3), r"<CheckpointManager folder=.*most=3.*>"),
        (tf.train.ExponentialMovingAverage(0.9), r"<ExponentialMovingAverage decay=0.9.*>"),
        (tf.autodiff.ForwardAccumulator(tf.ones(2), tf.ones(2)), r"<ForwardAccumulator sources=1 in all.*>"),
        (tf.compat.v1.train.Saver([tf.Variable(1.0)]), r"<Saver .*max_to_keep=5.*variables=1 in all>"),
        (tf.experimental.scipy.interpolate.CubicSpline(np.arange(5.0), np.arange(5.0)), r"<CubicSpline .*axis=0>"),
    ):
        assert re.fullmatch(said, repr(made))
