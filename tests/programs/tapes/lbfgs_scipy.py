# tolerance: 1e-3
"""Train a Keras model by scipy's L-BFGS with flattened variables (Pychao's tfp example for scipy): dynamic_stitch, dynamic_partition."""
import numpy
import numpy as np
import scipy.optimize
import tensorflow as tf

tf.keras.backend.set_floatx("float64")


def function_factory(model, loss, train_x, train_y):
    shapes = tf.shape_n(model.trainable_variables)
    n_tensors = len(shapes)
    count = 0
    idx = []
    part = []
    for i, shape in enumerate(shapes):
        n = numpy.prod(shape)
        idx.append(tf.reshape(tf.range(count, count + n, dtype=tf.int32), shape))
        part.extend([i] * n)
        count += n
    part = tf.constant(part)

    @tf.function
    def assign_new_model_parameters(params_1d):
        params = tf.dynamic_partition(params_1d, part, n_tensors)
        for i, (shape, param) in enumerate(zip(shapes, params)):
            model.trainable_variables[i].assign(tf.reshape(param, shape))

    @tf.function
    def f(params_1d):
        with tf.GradientTape() as tape:
            assign_new_model_parameters(params_1d)
            loss_value = loss(model(train_x, training=True), train_y)
        grads = tape.gradient(loss_value, model.trainable_variables)
        grads = tf.dynamic_stitch(idx, grads)
        f.iter.assign_add(1)
        f.history.append(1)
        return loss_value, grads

    f.iter = tf.Variable(0)
    f.idx = idx
    f.part = part
    f.shapes = shapes
    f.assign_new_model_parameters = assign_new_model_parameters
    f.history = []
    return f


def plot_helper(inputs, outputs):
    return "%.4f %.4f" % (np.mean(inputs), np.mean(outputs))


x_1d = numpy.linspace(-1., 1., 11)
x1, x2 = numpy.meshgrid(x_1d, x_1d)
inps = numpy.stack((x1.flatten(), x2.flatten()), 1)
outs = numpy.reshape(inps[:, 0] ** 2 + inps[:, 1] ** 2, (x_1d.size ** 2, 1))

pred_model = tf.keras.Sequential([
    tf.keras.Input(shape=[2, ]),
    tf.keras.layers.Dense(16, "tanh"), tf.keras.layers.Dense(16, "tanh"), tf.keras.layers.Dense(1, None)])
r = np.random.RandomState(0)
pred_model.set_weights([r.randn(*w.shape) * 0.5 if w.ndim == 2 else w for w in pred_model.get_weights()])
loss_fun = tf.keras.losses.MeanSquaredError()
func = function_factory(pred_model, loss_fun, inps, outs)
init_params = tf.dynamic_stitch(func.idx, pred_model.trainable_variables)
print(init_params.shape, init_params.dtype, func.part.shape)


def scipy_f(p):
    l, g = func(tf.constant(p))
    return l.numpy(), g.numpy().astype(np.float64)


seen = []
results = scipy.optimize.minimize(fun=scipy_f, x0=init_params.numpy(), jac=True, method="L-BFGS-B",
                                  options={"maxiter": 40, "ftol": 1e-14}, callback=lambda xk: seen.append(func.iter.numpy()))
func.assign_new_model_parameters(results.x)
print("iterations", results.nit, "evals >= iterations", int(func.iter) >= results.nit, len(seen) == results.nit)
print("loss %.2e" % results.fun if results.fun > 1e-2 else "loss small")
pred_outs = pred_model.predict(inps, verbose=0)
err = numpy.abs(pred_outs - outs)
print("L2-error norm ok", bool(numpy.linalg.norm(err) / numpy.sqrt(121) < 0.05))
v0, g0 = func(init_params)
print("%.8f %.8f" % (v0, np.linalg.norm(g0)))

# trust-region Newton with exact Hessian-vector products on a smaller problem
w = tf.Variable(tf.zeros([5], tf.float64))
A = tf.constant(r.randn(30, 5))
b = tf.constant((r.rand(30) > 0.5).astype("float64"))


def nll(w):
    z = tf.linalg.matvec(A, w)
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=b, logits=z)) + 0.5 * tf.reduce_sum(w ** 2)


@tf.function
def val_grad(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = nll(x)
    return y, t.gradient(y, x)


@tf.function
def hvp(x, v):
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = nll(x)
        g = t.gradient(y, x)
        gv = tf.tensordot(g, v, 1)
    return t2.gradient(gv, x)


def hess(x):
    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            y = nll(x)
        g = t1.gradient(y, x)
    return t2.jacobian(g, x).numpy()


fg = lambda x: [a.numpy() for a in val_grad(tf.convert_to_tensor(x))]
for method, kw in [("trust-ncg", dict(hessp=lambda x, p: hvp(tf.constant(x), tf.constant(p)).numpy())),
                   ("Newton-CG", dict(hess=hess)), ("trust-exact", dict(hess=hess)), ("BFGS", {}), ("SLSQP", {})]:
    res = scipy.optimize.minimize(fg, w.numpy(), jac=True, method=method, **kw)
    print(method, "%.8f" % res.fun, np.round(res.x, 4))
