# tolerance: 1e-4
# Semi-supervised graph convolution: sparse placeholders fed by SciPy, layer classes that count themselves, masks.
import numpy as np
import scipy.sparse as sp
import tensorflow as tf

LEARNING_RATE, EPOCHS, HIDDEN, WEIGHT_DECAY = 0.05, 12, 8, 5e-4
rng = np.random.RandomState(42)
_LAYER_UIDS = {}


def get_layer_uid(layer_name=""):
    _LAYER_UIDS.setdefault(layer_name, 0)
    _LAYER_UIDS[layer_name] += 1
    return _LAYER_UIDS[layer_name]


def sparse_to_tuple(mx):
    mx = mx.tocoo()
    return np.vstack((mx.row, mx.col)).transpose(), mx.data, mx.shape


def preprocess_adj(adj):
    adj = sp.coo_matrix(adj + sp.eye(adj.shape[0]))
    d = np.power(np.array(adj.sum(1)), -0.5).flatten()
    d = sp.diags(d)
    return sparse_to_tuple(adj.dot(d).transpose().dot(d))


def glorot(shape, name=None):
    r = np.sqrt(6.0 / (shape[0] + shape[1]))
    return tf.Variable(rng.uniform(-r, r, shape).astype(np.float32), name=name)


def sparse_dropout(x, keep_prob, noise_shape):
    random_tensor = keep_prob
    random_tensor += tf.random_uniform(noise_shape)
    dropout_mask = tf.cast(tf.floor(random_tensor), dtype=tf.bool)
    pre_out = tf.sparse_retain(x, dropout_mask)
    return pre_out * (1.0 / keep_prob)


def dot(x, y, sparse=False):
    return tf.sparse_tensor_dense_matmul(x, y) if sparse else tf.matmul(x, y)


def masked_softmax_cross_entropy(preds, labels, mask):
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(logits=preds, labels=labels)
    mask = tf.cast(mask, dtype=tf.float32)
    mask /= tf.reduce_mean(mask)
    loss *= mask
    return tf.reduce_mean(loss)


def masked_accuracy(preds, labels, mask):
    correct = tf.equal(tf.argmax(preds, 1), tf.argmax(labels, 1))
    accuracy_all = tf.cast(correct, tf.float32)
    mask = tf.cast(mask, dtype=tf.float32)
    mask /= tf.reduce_mean(mask)
    accuracy_all *= mask
    return tf.reduce_mean(accuracy_all)


class Layer(object):
    def __init__(self, **kwargs):
        for kwarg in kwargs:
            assert kwarg in {"name", "logging"}, "Invalid keyword argument: " + kwarg
        name = kwargs.get("name")
        if not name:
            layer = self.__class__.__name__.lower()
            name = layer + "_" + str(get_layer_uid(layer))
        self.name = name
        self.vars = {}
        self.logging = kwargs.get("logging", False)

    def __call__(self, inputs):
        with tf.name_scope(self.name):
            if self.logging and not isinstance(inputs, tf.SparseTensor):
                tf.summary.histogram(self.name + "/inputs", inputs)
            outputs = self._call(inputs)
            if self.logging:
                tf.summary.histogram(self.name + "/outputs", outputs)
            return outputs


class GraphConvolution(Layer):
    def __init__(
        self,
        input_dim,
        output_dim,
        placeholders,
        dropout=0.0,
        sparse_inputs=False,
        act=tf.nn.relu,
        bias=False,
        **kwargs,
    ):
        super(GraphConvolution, self).__init__(**kwargs)
        self.dropout = placeholders["dropout"] if dropout else 0.0
        self.act, self.support = act, placeholders["support"]
        self.sparse_inputs, self.bias = sparse_inputs, bias
        self.num_features_nonzero = placeholders["num_features_nonzero"]
        with tf.variable_scope(self.name + "_vars"):
            for i in range(len(self.support)):
                self.vars["weights_" + str(i)] = glorot([input_dim, output_dim], name="weights_" + str(i))
            if self.bias:
                self.vars["bias"] = tf.Variable(tf.zeros([output_dim], dtype=tf.float32), name="bias")

    def _call(self, inputs):
        x = inputs
        if self.sparse_inputs:
            x = sparse_dropout(x, 1 - self.dropout, self.num_features_nonzero)
        else:
            x = tf.nn.dropout(x, 1 - self.dropout)
        supports = []
        for i in range(len(self.support)):
            pre_sup = dot(x, self.vars["weights_" + str(i)], sparse=self.sparse_inputs)
            supports.append(dot(self.support[i], pre_sup, sparse=True))
        output = tf.add_n(supports)
        if self.bias:
            output += self.vars["bias"]
        return self.act(output)


class GCN(object):
    def __init__(self, placeholders, input_dim):
        self.placeholders, self.layers, self.activations = placeholders, [], []
        self.output_dim = placeholders["labels"].get_shape().as_list()[1]
        self.inputs = placeholders["features"]
        self.loss = 0
        self.optimizer = tf.train.AdamOptimizer(learning_rate=LEARNING_RATE)
        with tf.variable_scope("gcn"):
            self.layers.append(
                GraphConvolution(input_dim, HIDDEN, placeholders, dropout=True, sparse_inputs=True, logging=True)
            )
            self.layers.append(
                GraphConvolution(HIDDEN, self.output_dim, placeholders, act=lambda x: x, dropout=True, bias=True)
            )
        self.activations.append(self.inputs)
        for layer in self.layers:
            self.activations.append(layer(self.activations[-1]))
        self.outputs = self.activations[-1]
        variables = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="gcn")
        self.vars = {var.name: var for var in variables}
        for var in self.layers[0].vars.values():
            self.loss += WEIGHT_DECAY * tf.nn.l2_loss(var)
        self.loss += masked_softmax_cross_entropy(self.outputs, placeholders["labels"], placeholders["labels_mask"])
        self.accuracy = masked_accuracy(self.outputs, placeholders["labels"], placeholders["labels_mask"])
        self.opt_op = self.optimizer.minimize(self.loss)

    def predict(self):
        return tf.nn.softmax(self.outputs)


n, d, c = 30, 12, 3
labels = np.eye(c)[rng.randint(0, c, n)]
adj = np.array(
    [[rng.rand() < (0.5 if labels[i].argmax() == labels[j].argmax() else 0.05) for j in range(n)] for i in range(n)],
    float,
)
adj = sp.coo_matrix(np.maximum(adj, adj.T))
features = sp.lil_matrix((rng.rand(n, d) < 0.3).astype(np.float64) + np.hstack([labels, np.zeros((n, d - c))]))
features = sparse_to_tuple(sp.diags(1 / np.maximum(np.array(features.sum(1)).flatten(), 1)).dot(features))
support = [preprocess_adj(adj)]
masks = [np.arange(n) % 3 == k for k in range(3)]
placeholders = {
    "support": [tf.sparse_placeholder(tf.float32) for _ in range(1)],
    "features": tf.sparse_placeholder(tf.float32, shape=tf.constant(features[2], dtype=tf.int64)),
    "labels": tf.placeholder(tf.float32, shape=(None, c)),
    "labels_mask": tf.placeholder(tf.int32),
    "dropout": tf.placeholder_with_default(0.0, shape=()),
    "num_features_nonzero": tf.placeholder(tf.int32),
}
model = GCN(placeholders, input_dim=features[2][1])
sess = tf.Session()
merged = tf.summary.merge_all()


def construct_feed_dict(features, support, labels, labels_mask, placeholders):
    feed_dict = dict()
    feed_dict.update({placeholders["labels"]: labels})
    feed_dict.update({placeholders["labels_mask"]: labels_mask})
    feed_dict.update({placeholders["features"]: features})
    feed_dict.update({placeholders["support"][i]: support[i] for i in range(len(support))})
    feed_dict.update({placeholders["num_features_nonzero"]: features[1].shape})
    return feed_dict


def evaluate(mask):
    outs = sess.run(
        [model.loss, model.accuracy], feed_dict=construct_feed_dict(features, support, labels, mask, placeholders)
    )
    return outs[0], outs[1]


sess.run(tf.global_variables_initializer())
cost_val = []
for epoch in range(EPOCHS):
    feed_dict = construct_feed_dict(features, support, labels, masks[0], placeholders)
    feed_dict.update({placeholders["dropout"]: 0.0})
    outs = sess.run([model.opt_op, model.loss, model.accuracy, merged], feed_dict=feed_dict)
    cost, acc = evaluate(masks[1])
    cost_val.append(cost)
    print(
        "Epoch:",
        "%04d" % (epoch + 1),
        "train_loss=",
        "{:.5f}".format(outs[1]),
        "train_acc=",
        "{:.5f}".format(outs[2]),
        "val_loss=",
        "{:.5f}".format(cost),
        "val_acc=",
        "{:.5f}".format(acc),
    )
    if epoch > 5 and cost_val[-1] > np.mean(cost_val[-4:-1]):
        print("Early stopping...")
        break
print("Test set results:", "cost=%.5f accuracy=%.5f" % evaluate(masks[2]))
print(sorted(model.vars), placeholders["features"].get_shape(), placeholders["support"][0].get_shape())
print(type(placeholders["features"]).__name__, placeholders["features"].dtype, len(outs[3]) > 0)
