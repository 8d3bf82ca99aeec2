# What the session and the graph answer: partial runs of a graph, feeding of inner tensors, names, errors, handles.
import numpy as np
import tensorflow as tf

g1, g2 = tf.Graph(), tf.Graph()
with g1.as_default():
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.multiply(a, 3.0, name="b")
    c = tf.reduce_sum(b, name="c")
with g2.as_default():
    tf.set_random_seed(1)
    v = tf.get_variable("v", initializer=np.float32(2.0))
    inc = tf.assign_add(v, 1.0)
    with tf.control_dependencies([inc]):
        after = tf.identity(v.read_value())
with tf.Session(graph=g1) as sess:
    print(sess.run({"b": b, "list": [c, (a, c)]}))
    print(sess.run(c, {b: [10.0, 20.0]}), sess.run("c:0", feed_dict={"a:0": [0.0, 1.0]}))
    print(sess.graph is g1, tf.get_default_graph() is g1, c.op.name, [i.name for i in c.op.inputs][:1])
    try:
        sess.run(v)
    except ValueError as e:
        print("ValueError: not an element of this graph", "not an element" in str(e))
    call = sess.make_callable(c, [b])
    print(call(np.array([1.0, 1.0], np.float32)))
with tf.Session(graph=g2) as sess:
    try:
        sess.run(after)
    except tf.errors.FailedPreconditionError as e:
        print("FailedPreconditionError", "uninitialized" in str(e).lower())
    sess.run(tf.global_variables_initializer())
    print([sess.run(after) for _ in range(3)], v.eval(sess))
    g2.finalize()
    try:
        tf.add(v, 1.0)
    except RuntimeError as e:
        print("RuntimeError", "finalized" in str(e))
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.nn.relu(x, name="y")
    with tf.Session() as sess:
        for bad in ({x: [[1.0, 2.0, 3.0]]}, {}):
            try:
                sess.run(y, bad)
            except (ValueError, tf.errors.InvalidArgumentError) as e:
                print("refused")
    ops = [op.name for op in tf.get_default_graph().get_operations()]
    print(ops, tf.get_default_graph().get_tensor_by_name("y:0") is y)
    tf.add_to_collection("mine", y)
    print(tf.get_collection("mine") == [y], tf.get_default_graph().unique_name("y"))
i = tf.constant(0)
total = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + tf.to_float(i) ** 2), [i, tf.constant(0.0)])
case = tf.case([(tf.less(total[1], 10.0), lambda: tf.constant(1))], default=lambda: tf.constant(2))
with tf.Session() as sess:
    print(*sess.run(total), sess.run(case))
    print(sess.run(tf.map_fn(lambda z: z * z, np.arange(4.0))), sess.run(tf.foldl(lambda s, z: s + z, np.arange(4.0))))
