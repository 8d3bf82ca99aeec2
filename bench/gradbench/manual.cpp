// Derivatives by hand of the functions in objectives.py: what a careful programmer writes, without a library.
// Arrays are in row-major order. Built by manual.py with -O3 -march=native.

#include <algorithm>
#include <cmath>
#include <vector>

using std::vector;

extern "C" {

// ---- gmm: the gradient of the logarithm of the posterior ------------------------------------------------------------

void gmm(long d, long k, long n, const double* alpha, const double* mu, const double* q, const double* lower,
         const double* x, double gamma, long m, double* by_alpha, double* by_mu, double* by_q, double* by_lower) {
  const long below = d * (d - 1) / 2;
  vector<double> diagonal(k * d), sums(k, 0.0), centered(k * d), whitened(k * d), terms(k), back(d);
  for (long i = 0; i < k * d; i++) {
    diagonal[i] = std::exp(q[i]);
    sums[i / d] += q[i];
  }
  std::fill(by_alpha, by_alpha + k, 0.0);
  std::fill(by_mu, by_mu + k * d, 0.0);
  std::fill(by_q, by_q + k * d, 0.0);
  std::fill(by_lower, by_lower + k * below, 0.0);
  for (long row = 0; row < n; row++) {
    double largest = -INFINITY, total = 0;
    for (long c = 0; c < k; c++) {
      double* away = &centered[c * d];
      double* white = &whitened[c * d];
      const double* l = &lower[c * below];
      for (long i = 0; i < d; i++) away[i] = x[row * d + i] - mu[c * d + i];
      for (long i = 0; i < d; i++) white[i] = diagonal[c * d + i] * away[i];
      for (long j = 0; j < d; j++)
        for (long i = j + 1; i < d; i++) white[i] += *l++ * away[j];
      double square = 0;
      for (long i = 0; i < d; i++) square += white[i] * white[i];
      terms[c] = alpha[c] + sums[c] - 0.5 * square;
      largest = std::max(largest, terms[c]);
    }
    for (long c = 0; c < k; c++) total += terms[c] = std::exp(terms[c] - largest);
    for (long c = 0; c < k; c++) {
      const double share = terms[c] / total;
      const double *away = &centered[c * d], *white = &whitened[c * d], *l = &lower[c * below];
      double* by_l = &by_lower[c * below];
      by_alpha[c] += share;
      for (long i = 0; i < d; i++) {
        by_q[c * d + i] += share * (1 - white[i] * diagonal[c * d + i] * away[i]);
        back[i] = diagonal[c * d + i] * white[i];
      }
      for (long j = 0; j < d; j++) {
        double sum = 0;
        for (long i = j + 1; i < d; i++) {
          sum += *l++ * white[i];
          *by_l++ -= share * white[i] * away[j];
        }
        back[j] += sum;
      }
      for (long i = 0; i < d; i++) by_mu[c * d + i] += share * back[i];
    }
  }
  double largest = *std::max_element(alpha, alpha + k), total = 0;
  for (long c = 0; c < k; c++) total += std::exp(alpha[c] - largest);
  for (long c = 0; c < k; c++) by_alpha[c] -= n * std::exp(alpha[c] - largest) / total;
  for (long i = 0; i < k * d; i++) by_q[i] += m - gamma * gamma * diagonal[i] * diagonal[i];
  for (long i = 0; i < k * below; i++) by_lower[i] -= gamma * gamma * lower[i];
}

// ---- lse, llsq, kmeans ----------------------------------------------------------------------------------------------

void lse(long n, const double* x, double* by_x) {
  const double largest = *std::max_element(x, x + n);
  double total = 0;
  for (long i = 0; i < n; i++) total += by_x[i] = std::exp(x[i] - largest);
  for (long i = 0; i < n; i++) by_x[i] /= total;
}

void llsq(long size, long n, const double* x, double* by_x) {
  std::fill(by_x, by_x + size, 0.0);
  for (long row = 0; row < n; row++) {
    const double t = -1.0 + row * 2.0 / (n - 1), sign = (t > 0) - (t < 0);
    double value = 0;
    for (long i = size - 1; i >= 0; i--) value = value * t + x[i];
    double power = value - sign;
    for (long i = 0; i < size; i++, power *= t) by_x[i] += power;
  }
}

// The gradient of the cost, divided by the diagonal of its Hessian.
void kmeans(long n, long k, long d, const double* points, const double* centroids, double* direction) {
  vector<double> count(k, 0.0);
  std::fill(direction, direction + k * d, 0.0);
  for (long row = 0; row < n; row++) {
    long nearest = 0;
    double least = INFINITY;
    for (long c = 0; c < k; c++) {
      double square = 0;
      for (long i = 0; i < d; i++) {
        const double away = points[row * d + i] - centroids[c * d + i];
        square += away * away;
      }
      if (square < least) least = square, nearest = c;
    }
    count[nearest] += 1;
    for (long i = 0; i < d; i++) direction[nearest * d + i] += centroids[nearest * d + i] - points[row * d + i];
  }
  for (long i = 0; i < k * d; i++) direction[i] /= count[i / d];
}

// ---- ode: the gradient of the last element, where it can differ from zero -------------------------------------------

void ode(long n, long s, const double* x, double* by_x) {
  const double h = 2.0 / s;
  vector<double> y(n, 0.0), k1(n), k2(n), k3(n), k4(n), at(n);
  vector<vector<double>> kept;
  // of what leads to the last element: four elements more for each step
  const long first = std::max(0L, n - 1 - 4 * s);
  const auto slope = [&](const vector<double>& from, vector<double>& to) {
    for (long i = n - 1; i >= std::max(first, 1L); i--) to[i] = x[i] * from[i - 1];
    if (first == 0) to[0] = x[0];
  };
  for (long step = 0; step < s; step++) {
    kept.push_back(y);
    slope(y, k1);
    for (long i = first; i < n; i++) at[i] = y[i] + h * k1[i] / 2;
    slope(at, k2);
    kept.push_back(at);
    for (long i = first; i < n; i++) at[i] = y[i] + h * k2[i] / 2;
    slope(at, k3);
    kept.push_back(at);
    for (long i = first; i < n; i++) at[i] = y[i] + h * k3[i];
    slope(at, k4);
    kept.push_back(at);
    for (long i = first; i < n; i++) y[i] += h * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
  }
  std::fill(by_x, by_x + n, 0.0);
  vector<double> by_y(n, 0.0), by_k(n), by_at(n), last(n);
  by_y[n - 1] = 1;
  const auto back = [&](const vector<double>& from, const vector<double>& ct, vector<double>& to) {
    for (long i = n - 1; i >= std::max(first, 1L); i--) {
      by_x[i] += from[i - 1] * ct[i];
      to[i - 1] = x[i] * ct[i];
    }
    to[n - 1] = 0;
    if (first == 0) by_x[0] += ct[0];
  };
  for (long step = s - 1; step >= 0; step--) {
    const double weights[4] = {h / 6, h / 3, h / 3, h / 6}, reach[4] = {0, h / 2, h / 2, h};
    last = by_y;
    std::fill(by_at.begin() + first, by_at.end(), 0.0);
    for (int stage = 3; stage >= 0; stage--) {
      const double reached = stage < 3 ? reach[stage + 1] : 0;
      for (long i = first; i < n; i++) by_k[i] = weights[stage] * last[i] + reached * by_at[i];
      back(kept[4 * step + stage], by_k, by_at);
      for (long i = first; i < n; i++) by_y[i] += by_at[i];
    }
  }
}

// ---- lstm: the gradient of the loss ----------------------------------------------------------------------------------

void lstm(long layers, long length, long b, const double* main, const double* extra, const double* state,
          const double* sequence, double* by_main, double* by_extra) {
  const long steps = length - 1;
  const double scale = -1.0 / (steps * b);
  // by step and layer: the input, hidden, cell before; the gates; the cell after
  vector<double> tape(steps * layers * b * 8), top(steps * b), hidden(layers * b), cell(layers * b);
  for (long i = 0; i < layers; i++)
    for (long j = 0; j < b; j++) {
      hidden[i * b + j] = state[2 * i * b + j];
      cell[i * b + j] = state[(2 * i + 1) * b + j];
    }
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (long t = 0; t < steps; t++)
    for (long j = 0; j < b; j++) {
      double value = sequence[t * b + j] * extra[j];
      for (long i = 0; i < layers; i++) {
        const double *w = &main[2 * i * 4 * b + j], *c = &main[(2 * i + 1) * 4 * b + j];
        double* at = &tape[((t * layers + i) * b + j) * 8];
        double &h = hidden[i * b + j], &s = cell[i * b + j];
        at[0] = value, at[1] = h, at[2] = s;
        at[3] = sigmoid(value * w[0] + c[0]);
        at[4] = sigmoid(h * w[b] + c[b]);
        at[5] = sigmoid(value * w[2 * b] + c[2 * b]);
        at[6] = std::tanh(h * w[3 * b] + c[3 * b]);
        s = s * at[3] + at[4] * at[6];
        at[7] = std::tanh(s);
        value = h = at[5] * at[7];
      }
      top[t * b + j] = value;
    }
  std::fill(by_main, by_main + layers * 8 * b, 0.0);
  std::fill(by_extra, by_extra + 3 * b, 0.0);
  vector<double> by_hidden(layers * b, 0.0), by_cell(layers * b, 0.0), shares(b);
  for (long t = steps - 1; t >= 0; t--) {
    double total = 2, wanted = 0;
    for (long j = 0; j < b; j++) {
      total += shares[j] = std::exp(top[t * b + j] * extra[b + j] + extra[2 * b + j]);
      wanted += sequence[(t + 1) * b + j];
    }
    for (long j = 0; j < b; j++) {
      const double ct = scale * (sequence[(t + 1) * b + j] - wanted * shares[j] / total);
      by_extra[b + j] += ct * top[t * b + j];
      by_extra[2 * b + j] += ct;
      double by_value = ct * extra[b + j];
      for (long i = layers - 1; i >= 0; i--) {
        const double* w = &main[2 * i * 4 * b + j];
        double *by_w = &by_main[2 * i * 4 * b + j], *by_c = &by_main[(2 * i + 1) * 4 * b + j];
        const double* at = &tape[((t * layers + i) * b + j) * 8];
        double &by_h = by_hidden[i * b + j], &by_s = by_cell[i * b + j];
        const double out = by_value + by_h, into = by_s + out * at[5] * (1 - at[7] * at[7]);
        const double forget = into * at[2] * at[3] * (1 - at[3]), entry = into * at[6] * at[4] * (1 - at[4]);
        const double output = out * at[7] * at[5] * (1 - at[5]), change = into * at[4] * (1 - at[6] * at[6]);
        by_s = into * at[3];
        by_h = entry * w[b] + change * w[3 * b];
        by_value = forget * w[0] + output * w[2 * b];
        by_w[0] += forget * at[0], by_w[b] += entry * at[1], by_w[2 * b] += output * at[0], by_w[3 * b] += change * at[1];
        by_c[0] += forget, by_c[b] += entry, by_c[2 * b] += output, by_c[3 * b] += change;
      }
      by_extra[j] += by_value * sequence[t * b + j];
    }
  }
}

// ---- ba: the elements of the Jacobian, 15 for each residual, then one for each weight -------------------------------

void ba(long p, const long* observed, const double* cameras, const double* points, const double* weights,
        const double* features, double* elements) {
  for (long o = 0; o < p; o++) {
    const double *c = &cameras[11 * observed[2 * o]], *point = &points[3 * observed[2 * o + 1]];
    const double weight = weights[o], theta = std::sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    const double sine = std::sin(theta), cosine = std::cos(theta);
    double a[3], v[3], cross[3], seen[3], by_point[3][3], by_rotation[3][3];
    for (int i = 0; i < 3; i++) a[i] = c[i] / theta, v[i] = point[i] - c[3 + i];
    const double along = a[0] * v[0] + a[1] * v[1] + a[2] * v[2];
    for (int i = 0; i < 3; i++) cross[i] = a[(i + 1) % 3] * v[(i + 2) % 3] - a[(i + 2) % 3] * v[(i + 1) % 3];
    for (int i = 0; i < 3; i++) seen[i] = v[i] * cosine + cross[i] * sine + a[i] * along * (1 - cosine);
    for (int j = 0; j < 3; j++) {
      // along the point's axis j, and along the rotation's
      double axis[3], turned[3], inner = 0;
      for (int i = 0; i < 3; i++) axis[i] = ((i == j) - a[i] * a[j]) / theta, inner += axis[i] * v[i];
      for (int i = 0; i < 3; i++) turned[i] = axis[(i + 1) % 3] * v[(i + 2) % 3] - axis[(i + 2) % 3] * v[(i + 1) % 3];
      for (int i = 0; i < 3; i++) {
        const double skew = i == j ? 0 : (j == (i + 2) % 3 ? a[(i + 1) % 3] : -a[(i + 2) % 3]);
        by_point[i][j] = (i == j) * cosine + skew * sine + a[i] * a[j] * (1 - cosine);
        by_rotation[i][j] = a[j] * (-v[i] * sine + cross[i] * cosine + a[i] * along * sine) + turned[i] * sine
                            + (axis[i] * along + a[i] * inner) * (1 - cosine);
      }
    }
    const double image[2] = {seen[0] / seen[2], seen[1] / seen[2]};
    const double square = image[0] * image[0] + image[1] * image[1];
    const double distortion = 1 + c[9] * square + c[10] * square * square, bend = 2 * (c[9] + 2 * c[10] * square);
    for (int r = 0; r < 2; r++) {
      double *row = &elements[(2 * o + r) * 15], by_seen[3];
      const double by_image[2] = {c[6] * ((r == 0) * distortion + bend * image[0] * image[r]),
                                  c[6] * ((r == 1) * distortion + bend * image[1] * image[r])};
      by_seen[0] = by_image[0] / seen[2], by_seen[1] = by_image[1] / seen[2];
      by_seen[2] = -(by_image[0] * image[0] + by_image[1] * image[1]) / seen[2];
      for (int j = 0; j < 3; j++) {
        double turn = 0, move = 0;
        for (int i = 0; i < 3; i++) turn += by_seen[i] * by_rotation[i][j], move += by_seen[i] * by_point[i][j];
        row[j] = weight * turn, row[3 + j] = -weight * move, row[11 + j] = weight * move;
      }
      row[6] = weight * distortion * image[r];
      row[7] = weight * (r == 0), row[8] = weight * (r == 1);
      row[9] = weight * c[6] * square * image[r], row[10] = weight * c[6] * square * square * image[r];
      row[14] = image[r] * distortion * c[6] + c[7 + r] - features[2 * o + r];
    }
    elements[30 * p + o] = -2 * weight;
  }
}

// ---- ht: the Jacobian of a hand, 26 columns of angles for each row, then two of places in a triangle ---------------

const long ANGLES = 20, COLUMNS = 26;

// The product of two matrices whose last row is 0, 0, 0, 1 (or, of a tangent, 0).
static void times(const double* a, const double* b, double last, double* out) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++)
      out[4 * i + j] = a[4 * i] * b[j] + a[4 * i + 1] * b[4 + j] + a[4 * i + 2] * b[8 + j] + (j == 3) * last * a[4 * i + 3];
}

// The matrix of a rotation vector and its derivatives; the identity and zeros if that is shorter than 1e-4.
static void rotation_of(const double* v, double* matrix, double* by_v) {
  const double theta = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), s = std::sin(theta), c = std::cos(theta);
  const bool still = theta < 1e-4;
  const auto skew = [](const double* a, int i, int j) {
    return i == j ? 0.0 : j == (i + 2) % 3 ? a[(i + 1) % 3] : -a[(i + 2) % 3];
  };
  double a[3], along[3];
  for (int i = 0; i < 3; i++) a[i] = still ? 0 : v[i] / theta;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      matrix[3 * i + j] = still ? i == j : (i == j) * c + (1 - c) * a[i] * a[j] + s * skew(a, i, j);
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 3; i++) along[i] = still ? 0 : ((i == k) - a[i] * a[k]) / theta;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        by_v[9 * k + 3 * i + j] = a[k] * (s * (a[i] * a[j] - (i == j)) + c * skew(a, i, j))
                                  + (1 - c) * (along[i] * a[j] + a[i] * along[j]) + s * skew(along, i, j);
  }
}

void ht(long bones, long vertices, long points, long mirrored, const long* parents, const double* relatives,
        const double* inverses, const double* positions, const double* weights, const double* theta, long corners,
        const long* corner, const double* places, double* by_theta, double* by_places) {
  // by bone: where it is and what moves its vertices, and the same along each angle, as three rows of four
  vector<double> at(bones * 12), moves(bones * 12), by_at(bones * ANGLES * 12, 0.0), by_moves(bones * ANGLES * 12);
  vector<vector<long>> bent(bones);
  for (long b = 0, angle = 0; b < bones; b++) {
    const long joint = b < 2 ? 3 : (b - 2) % 4, parent = parents[b];
    double own[2] = {0, 0}, turned[3][12];
    const long first = angle, free = joint == 0 ? 2 : joint < 3 ? 1 : 0;
    for (long i = 0; i < free; i++) own[i] = theta[6 + angle++];
    const double sx = std::sin(own[0]), cx = std::cos(own[0]), sz = std::sin(own[1]), cz = std::cos(own[1]);
    const double turns[3][12] = {{cz, -sz * cx, sz * sx, 0, sz, cz * cx, -cz * sx, 0, 0, sx, cx, 0},
                                 {0, sz * sx, sz * cx, 0, 0, -cz * sx, -cz * cx, 0, 0, cx, -sx, 0},
                                 {-sz, -cz * cx, cz * sx, 0, cz, -sz * cx, sz * sx, 0, 0, 0, 0, 0}};
    for (long i = 0; i <= free; i++) times(&relatives[16 * b], turns[i], i == 0, turned[i]);
    if (parent < 0) {
      std::copy(turned[0], turned[0] + 12, &at[12 * b]);
    } else {
      times(&at[12 * parent], turned[0], 1, &at[12 * b]);
      for (long k : bent[b] = bent[parent]) times(&by_at[12 * (parent * ANGLES + k)], turned[0], 1, &by_at[12 * (b * ANGLES + k)]);
    }
    for (long i = 0; i < free; i++) {
      double* to = &by_at[12 * (b * ANGLES + first + i)];
      if (parent < 0) std::copy(turned[1 + i], turned[1 + i] + 12, to);
      else times(&at[12 * parent], turned[1 + i], 0, to);
      bent[b].push_back(first + i);
    }
    times(&at[12 * b], &inverses[16 * b], 1, &moves[12 * b]);
    for (long k : bent[b]) times(&by_at[12 * (b * ANGLES + k)], &inverses[16 * b], 1, &by_moves[12 * (b * ANGLES + k)]);
  }
  double rotation[9], by_rotation[27];
  rotation_of(theta, rotation, by_rotation);
  const auto along = [&](const double* m, const double* x, double share, double* to) {
    for (int i = 0; i < 3; i++)
      to[i] += share * (m[4 * i] * x[0] + m[4 * i + 1] * x[1] + m[4 * i + 2] * x[2] + m[4 * i + 3] * x[3]);
  };
  // by vertex: its place, and its derivative in each element of theta, by axis
  vector<double> vertex(vertices * 3), by_vertex(vertices * 3 * COLUMNS);
  for (long v = 0; v < vertices; v++) {
    double place[3] = {0, 0, 0}, moved[ANGLES][3] = {};
    for (long b = 0; b < bones; b++) {
      const double share = weights[v * bones + b];
      if (share == 0) continue;
      along(&moves[12 * b], &positions[4 * v], share, place);
      for (long k : bent[b]) along(&by_moves[12 * (b * ANGLES + k)], &positions[4 * v], share, moved[k]);
    }
    if (mirrored) {
      place[0] = -place[0];
      for (auto& one : moved) one[0] = -one[0];
    }
    const auto turned = [](const double* m, const double* x, int i) {
      return m[3 * i] * x[0] + m[3 * i + 1] * x[1] + m[3 * i + 2] * x[2];
    };
    for (int i = 0; i < 3; i++) {
      double* row = &by_vertex[(3 * v + i) * COLUMNS];
      vertex[3 * v + i] = turned(rotation, place, i) + theta[3 + i];
      for (int k = 0; k < 3; k++) row[k] = turned(&by_rotation[9 * k], place, i), row[3 + k] = i == k;
      for (long k = 0; k < ANGLES; k++) row[6 + k] = turned(rotation, moved[k], i);
    }
  }
  for (long p = 0; p < points; p++) {
    const long* seen = &corner[corners * p];
    const double u = corners == 3 ? places[2 * p] : 1, v = corners == 3 ? places[2 * p + 1] : 0;
    const double shares[3] = {u, v, 1 - u - v};
    for (int i = 0; i < 3; i++) {
      double* row = &by_theta[(3 * p + i) * COLUMNS];
      for (long k = 0; k < COLUMNS; k++) {
        double sum = 0;
        for (long j = 0; j < corners; j++) sum -= shares[j] * by_vertex[(3 * seen[j] + i) * COLUMNS + k];
        row[k] = sum;
      }
      if (corners == 3)
        for (int j = 0; j < 2; j++) by_places[2 * (3 * p + i) + j] = vertex[3 * seen[2] + i] - vertex[3 * seen[j] + i];
    }
  }
}

// ---- det: expansion by minors, and its reverse ----------------------------------------------------------------------

static double minor_of(const double* a, long n, long row, unsigned columns) {
  if (row == n) return 1;
  double total = 0, sign = 1;
  for (long c = 0; c < n; c++)
    if (columns >> c & 1) total += sign * a[row * n + c] * minor_of(a, n, row + 1, columns & ~(1u << c)), sign = -sign;
  return total;
}

static void minor_back(const double* a, long n, long row, unsigned columns, double ct, double* by_a) {
  if (row == n) return;
  double sign = 1;
  for (long c = 0; c < n; c++)
    if (columns >> c & 1) {
      const unsigned rest = columns & ~(1u << c);
      by_a[row * n + c] += ct * sign * minor_of(a, n, row + 1, rest);
      minor_back(a, n, row + 1, rest, ct * sign * a[row * n + c], by_a);
      sign = -sign;
    }
}

void det(long n, const double* a, double* by_a) {
  std::fill(by_a, by_a + n * n, 0.0);
  minor_back(a, n, 0, (1u << n) - 1, 1, by_a);
}
}
