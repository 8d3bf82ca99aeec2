import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(7)
X = tf.random.normal([20, 4]); Y = tf.random.normal([20, 1])
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(5, activation='tanh'), tf.keras.layers.Dense(1)])
shapes = tf.shape_n([v.value for v in model.trainable_variables]) if hasattr(model.trainable_variables[0], 'value') and not callable(model.trainable_variables[0].value) else tf.shape_n([tf.convert_to_tensor(v) for v in model.trainable_variables])
n_tensors = len(shapes)
count, idx, part = 0, [], []
for i, shape in enumerate(shapes):
    n = np.prod(shape.numpy())
    idx.append(tf.reshape(tf.range(count, count+n, dtype=tf.int32), shape))
    part.extend([i]*n)
    count += n
part = tf.constant(part)
@tf.function
def assign_new_model_parameters(params_1d):
    params = tf.dynamic_partition(params_1d, part, n_tensors)
    for i, (shape, param) in enumerate(zip(shapes, params)):
        model.trainable_variables[i].assign(tf.reshape(param, shape))
def loss_fn():
    return tf.reduce_mean(tf.square(model(X, training=True) - Y))
@tf.function
def f(params_1d):
    with tf.GradientTape() as tape:
        assign_new_model_parameters(params_1d)
        loss_value = loss_fn()
    grads = tape.gradient(loss_value, model.trainable_variables)
    grads = tf.dynamic_stitch(idx, grads)
    return loss_value, grads
params = tf.dynamic_stitch(idx, [tf.convert_to_tensor(v) for v in model.trainable_variables])
# L-BFGS two-loop recursion by hand
S, R = [], []
x = params; l, g = f(x)
for it in range(10):
    q, al = g, []
    for s, r in reversed(list(zip(S, R))):
        a = tf.tensordot(s, q, 1) / tf.tensordot(r, s, 1); al.append(a); q = q - a * r
    if S: q = q * tf.tensordot(S[-1], R[-1], 1) / tf.tensordot(R[-1], R[-1], 1)
    for (s, r), a in zip(zip(S, R), reversed(al)):
        q = q + s * (a - tf.tensordot(r, q, 1) / tf.tensordot(r, s, 1))
    step = 0.5 if S else 0.1
    x_new = x - step * q
    l_new, g_new = f(x_new)
    S.append(x_new - x); R.append(g_new - g); S, R = S[-5:], R[-5:]
    x, l, g = x_new, l_new, g_new
    print(it, float(l))

# Hessian vector products three ways and conjugate gradients
W = [tf.Variable(tf.random.normal([4, 3]) * .5), tf.Variable(tf.random.normal([3, 1]) * .5)]
def loss2(): return tf.reduce_mean((tf.tanh(X @ W[0]) @ W[1] - Y) ** 2)
def hvp_bb(v):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            l = loss2()
        g = inner.gradient(l, W)
        dot = tf.add_n([tf.reduce_sum(a * tf.stop_gradient(b)) for a, b in zip(g, v)])
    return outer.gradient(dot, W)
def hvp_fb(v):
    with tf.autodiff.ForwardAccumulator(primals=W, tangents=v) as acc:
        with tf.GradientTape() as tape:
            l = loss2()
        g = tape.gradient(l, W)
    return acc.jvp(g)
def hvp_bf(v):
    with tf.GradientTape() as tape:
        with tf.autodiff.ForwardAccumulator(primals=W, tangents=v) as acc:
            l = loss2()
        jv = acc.jvp(l)
    return tape.gradient(jv, W)
v = [tf.ones_like(w) for w in W]
for h in (hvp_bb, hvp_fb, hvp_bf, tf.function(hvp_bb), tf.function(hvp_fb)):
    print([float(tf.reduce_sum(a * a)) for a in h(v)])
@tf.function
def cg(b, n):
    x = tf.zeros_like(b); r = b; p = r; rs = tf.reduce_sum(r * r)
    i = tf.constant(0)
    while i < n and rs > 1e-9:
        Ap = tf.concat([tf.reshape(h, [-1]) for h in hvp_bb([tf.reshape(p[:12], [4, 3]), tf.reshape(p[12:], [3, 1])])], 0) + 5. * p
        a = rs / tf.reduce_sum(p * Ap)
        x += a * p; r -= a * Ap
        new = tf.reduce_sum(r * r)
        p = r + new / rs * p; rs = new
        i += 1
    return x
for it in range(10):
    with tf.GradientTape() as t: l = loss2()
    b = tf.concat([tf.reshape(q, [-1]) for q in t.gradient(l, W)], 0)
    d = cg(b, tf.constant(5))
    W[0].assign_sub(tf.reshape(d[:12], [4, 3])); W[1].assign_sub(tf.reshape(d[12:], [3, 1]))
    print(float(l))
