"""deep_q.py, as tape code: written by dualgrad convert."""

import numpy as np
import tape_api as tf

rng = np.random.RandomState(0)
n_states, n_actions, n_hidden, discount = 6, 2, 12, 0.9
pred_w1 = tf.Variable((0.3 * rng.randn(n_states, n_hidden)).astype(np.float32), name="pred/w1")  # line 25
pred_w2 = tf.Variable((0.3 * rng.randn(n_hidden, n_actions)).astype(np.float32), name="pred/w2")  # line 27
target_w1 = tf.Variable((0.3 * rng.randn(n_states, n_hidden)).astype(np.float32), name="target/w1")  # line 25
target_w2 = tf.Variable((0.3 * rng.randn(n_hidden, n_actions)).astype(np.float32), name="target/w2")  # line 27
pred_b1 = tf.Variable(tf.zeros([n_hidden]), name="pred/b1")  # line 26
target_b1 = tf.Variable(tf.zeros([n_hidden]), name="target/b1")  # line 26
pred_w = [pred_w1, pred_b1, pred_w2]
optimizer = tf.compat.v1.train.RMSPropOptimizer(0.005, momentum=0.9, epsilon=0.01)
target_2 = [target_w1, target_b1, target_w2]


def compute_q(s_t):
    return tf.matmul(tf.nn.relu(tf.matmul(s_t, pred_w1) + pred_b1), pred_w2)


def update_target():
    for target, pred in zip(target_2, pred_w):  # line 51
        target.assign(pred)  # line 51


def train_op(s_t, action, reward, s_t_plus_1, terminal):
    s_t, reward, s_t_plus_1, terminal = [tf.convert_to_tensor(x, tf.float32)
                                         for x in (s_t, reward, s_t_plus_1, terminal)]
    action = tf.convert_to_tensor(action, tf.int32)
    with tf.GradientTape() as tape:
        q = compute_q(s_t)
        max_q = tf.reduce_max(tf.matmul(tf.nn.relu(tf.matmul(s_t_plus_1, target_w1) + target_b1), target_w2),  # line 44
                              axis=-1)
        target = tf.stop_gradient(reward + (1.0 - terminal) * discount * max_q)  # line 45
        q_of_action = tf.reduce_sum(q * tf.one_hot(action, n_actions, 1.0, 0.0), axis=-1)  # line 46
        delta = target - q_of_action  # line 47
        clipped_error = tf.where(tf.abs(delta) < 1.0, 0.5 * tf.square(delta), tf.abs(delta) - 0.5)  # line 48
        loss = tf.reduce_mean(clipped_error)  # line 49
    optimizer.apply_gradients(zip(tape.gradient(loss, pred_w), pred_w))  # line 50
    return loss


def compute_best_action(s_t):
    s_t = tf.convert_to_tensor(s_t, tf.float32)
    return tf.argmax(compute_q(s_t), axis=-1)


class Corridor:
    """Steps to the left and to the right; at the right end there is a reward."""

    def reset(self):
        self.at = 0
        return self.at

    def step(self, action):
        self.at = max(self.at - 1, 0) if action == 0 else self.at + 1
        done = self.at == n_states - 1
        return self.at, float(done), done


if __name__ == "__main__":
    one_hot = np.eye(n_states, dtype=np.float32)
    env, memory = Corridor(), []
    update_target()
    for episode in range(15):
        state, done, steps, losses = env.reset(), False, 0, []
        while not done and steps < 40:
            if rng.rand() < max(0.1, 1.0 - 0.08 * episode):
                a = rng.randint(n_actions)
            else:
                a = int(compute_best_action(one_hot[[state]]).numpy()[0])
            after, r, done = env.step(a)
            memory.append((state, a, r, after, done))
            state = after
            steps += 1
            if len(memory) >= 16:
                chosen = [memory[i] for i in rng.randint(0, len(memory), 16)]
                s, acts, rewards, s1, ends = [np.array(part) for part in zip(*chosen)]
                feed = {"s_t": one_hot[s], "action": acts, "reward": rewards, "s_t_plus_1": one_hot[s1], "terminal": ends.astype(np.float32)}
                error = train_op(**feed).numpy()
                losses.append(error)
        if episode % 3 == 2:
            update_target()
            print("episode %d: %d steps, loss %.4f" % (episode, steps, np.mean(losses)))
