# tolerance: 1e-4
# A wide and deep model of CSV files: queues and readers, crossed columns, FTRL, a monitored session with hooks.
import csv
import os
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
rng = np.random.RandomState(4)
os.makedirs("data", exist_ok=True)
COLS = ["age", "job", "city", "income", "label"]
for part in range(2):
    with open("data/part-%d.csv" % part, "w", newline="") as f:
        wr = csv.writer(f)
        wr.writerow(COLS)
        for i in range(20):
            age, job, city = rng.randint(18, 70), rng.choice(["clerk", "smith", "cook"]), rng.choice(["A", "B", ""])
            wr.writerow([age, job, city, "%.2f" % (rng.rand() * 3) if i % 5 else "", int(age > 40 or job == "cook")])


def read(queue):
    reader = tf.TextLineReader(skip_header_lines=1)
    key, line = reader.read(queue)
    age, job, city, income, label = tf.decode_csv(line, record_defaults=[[0], [""], ["none"], [1.5], [0]])
    return key, tf.cast(age, tf.float32) / 50.0, job, city, income, label


def code_of(x, names):
    same = tf.equal(tf.expand_dims(x, 1), tf.constant([names]))
    return tf.argmax(tf.cast(same, tf.int32), axis=1)


graph = tf.Graph()
with graph.as_default():
    files = tf.train.match_filenames_once("data/part-*.csv")
    queue = tf.train.string_input_producer(files, num_epochs=4, shuffle=False)
    fields = read(queue)
    key, age, job, city, income, label = tf.train.batch(
        fields, batch_size=10, capacity=40, num_threads=1, allow_smaller_final_batch=True
    )
    step = tf.train.get_or_create_global_step()
    jobs, cities = ["clerk", "smith", "cook"], ["A", "B", "none"]
    job_id, city_id = code_of(job, jobs), code_of(city, cities)
    cross = code_of(tf.string_join([job, city], separator="_X_"), [j + "_X_" + c for j in jobs for c in cities])
    with tf.variable_scope("wide"):
        wide = tf.get_variable("cross", [16, 1], initializer=tf.zeros_initializer())
        wide_out = tf.nn.embedding_lookup(wide, cross)
    with tf.variable_scope("deep", initializer=tf.constant_initializer(0.1)):
        emb = [
            tf.nn.embedding_lookup(
                tf.get_variable(n, [k, 3], initializer=tf.constant_initializer(np.random.RandomState(k).randn(k, 3))), i
            )
            for n, k, i in (("job", 4, job_id), ("city", 8, city_id))
        ]
        x = tf.concat(emb + [tf.stack([age, tf.log1p(income)], axis=1)], axis=1)
        for layer, units in enumerate([6, 1]):
            w = tf.get_variable("w%d" % layer, [x.shape[1], units])
            x = tf.nn.bias_add(tf.matmul(x, w), tf.get_variable("b%d" % layer, [units]))
            x = tf.nn.softsign(x) if layer == 0 else x
        deep_out = x
    logits = tf.squeeze(wide_out + deep_out, axis=[1], name="logits")
    labels = tf.to_float(label)
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    total = tf.losses.get_total_loss()
    wide_vars, deep_vars = [tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, s) for s in ("wide", "deep")]
    train_wide = tf.train.FtrlOptimizer(
        0.2, l1_regularization_strength=0.001, l2_regularization_strength=0.001
    ).minimize(total, var_list=wide_vars)
    train_deep = tf.train.AdagradOptimizer(0.1).minimize(total, var_list=deep_vars)
    with tf.control_dependencies([train_wide, train_deep]):
        train = tf.assign_add(step, 1).op
    auc, auc_op = tf.metrics.auc(labels, tf.sigmoid(logits), num_thresholds=50)
    acc = tf.reduce_mean(tf.cast(tf.equal(logits > 0, labels > 0.5), tf.float32))
    names = tf.as_string(tf.reduce_sum(city_id), width=4, fill="0")
    print(wide_vars[0].name, [v.name for v in deep_vars], queue.name, key.dtype, job.dtype)

    size, first = tf.size(logits), tf.slice(key, [0], [1])

    class Printer(tf.train.SessionRunHook):
        def begin(self):
            self.n = 0

        def before_run(self, run_context):
            return tf.train.SessionRunArgs([total, acc, names, size, first])

        def after_run(self, run_context, run_values):
            self.n += 1
            l, a, s, size, k = run_values.results
            print(self.n, "%.5f %.3f" % (l, a), s, size, k[0].decode().split("/")[-1])

        def end(self, session):
            print("end after", self.n, "auc %.4f" % session.run(auc))

    hooks = [Printer(), tf.train.NanTensorHook(total), tf.train.StopAtStepHook(last_step=30)]
    scaffold = tf.train.Scaffold(local_init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()))
    with tf.train.MonitoredTrainingSession(
        hooks=hooks, scaffold=scaffold, save_checkpoint_secs=None, save_summaries_steps=None, log_step_count_steps=None
    ) as sess:
        while not sess.should_stop():
            sess.run([train, auc_op])
