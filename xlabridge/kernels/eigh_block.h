// A file includes this with W, the doubles of a vector register, and NAME, the name of the function.
//
// Householder's reflections make the matrix tridiagonal, the QL method with implicit shifts makes that diagonal (Golub
// and Van Loan, algorithms 8.3.1 and 8.3.3, from the other end; Dubrulle, Martin and Wilkinson, "The implicit QL
// algorithm", 1968). All that is done to the eigenvectors is done to whole rows.
#include <float.h>
#include <math.h>

#include "eigh.h"

typedef double vec __attribute__((vector_size(8 * W), may_alias, aligned(8)));

// An eigenvalue usually takes two iterations. An element beside the diagonal counts as zero if it is small relative to
// its neighbors, so that small eigenvalues keep their digits. After FEW_TURNS iterations it is compared with the whole
// matrix: if many eigenvalues are zero, only rounding errors remain, which never become small relative to themselves.
enum { FEW_TURNS = 8, MOST_TURNS = 60 };

static inline double dot(const double *x, const double *y, int64_t n) {
  vec sum = {0};
  int64_t i = 0;
  for (; i + W <= n; i += W) sum += *(const vec *)(x + i) * *(const vec *)(y + i);
  double s = 0;
  for (int k = 0; k < W; k++) s += sum[k];
  for (; i < n; i++) s += x[i] * y[i];
  return s;
}

// add is y += f x + g z.
static inline void add(double *y, double f, const double *x, double g, const double *z, int64_t n) {
  int64_t i = 0;
  for (; i + W <= n; i += W) *(vec *)(y + i) += f * *(const vec *)(x + i) + g * *(const vec *)(z + i);
  for (; i < n; i++) y[i] += f * x[i] + g * z[i];
}

// rotate turns a pair of rows: x = c x - s y, y = s x + c y.
static inline void rotate(double *x, double *y, double c, double s, int64_t n) {
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    vec a = *(vec *)(x + i), b = *(vec *)(y + i);
    *(vec *)(x + i) = c * a - s * b;
    *(vec *)(y + i) = s * a + c * b;
  }
  for (; i < n; i++) {
    double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

// tridiagonal leaves the diagonal in d[n], what is beside it in e[n-1], in row k of a behind the diagonal the vector u
// of the k-th reflection 1 - tau u u^T and its tau in tau[k].
static void tridiagonal(int64_t n, double *a, double *d, double *e, double *tau) {
  for (int64_t k = 0; k + 1 < n; k++) {
    double *u = a + k * n + k + 1;
    int64_t m = n - k - 1;
    d[k] = a[k * n + k];
    double size = sqrt(dot(u, u, m));
    if (m == 1 || size * size < DBL_MIN) {
      e[k] = u[0];
      tau[k] = 0;
      if (m > 1) e[k] = 0;
      continue;
    }
    e[k] = u[0] > 0 ? -size : size;
    u[0] -= e[k];
    tau[k] = 2 / dot(u, u, m);
    // The rest is changed by w = p - tau/2 (p u) u with p = tau A u: A - u w^T - w u^T. w lies where tau and e have no
    // numbers yet.
    double *w = e + k + 1;
    for (int64_t i = 0; i < m; i++) w[i] = tau[k] * dot(a + (k + 1 + i) * n + k + 1, u, m);
    double half = tau[k] / 2 * dot(w, u, m);
    for (int64_t i = 0; i < m; i++) w[i] -= half * u[i];
    for (int64_t i = 0; i < m; i++) add(a + (k + 1 + i) * n + k + 1, -u[i], w, -w[i], u, m);
  }
  d[n - 1] = a[n * n - 1];
}

// reflections puts the product of them, transposed, in v.
static void reflections(int64_t n, const double *a, const double *tau, double *v) {
  for (int64_t i = 0; i < n * n; i++) v[i] = 0;
  for (int64_t i = 0; i < n; i++) v[i * n + i] = 1;
  for (int64_t k = n - 2; k >= 0; k--) {
    const double *u = a + k * n + k + 1;
    if (tau[k] == 0) continue;
    for (int64_t i = k + 1; i < n; i++) {
      double *row = v + i * n + k + 1;
      double f = -tau[k] * dot(row, u, n - k - 1);
      add(row, f, u, 0, u, n - k - 1);
    }
  }
}

// diagonal makes the tridiagonal matrix diagonal and turns the rows of v with it.
static int diagonal(int64_t n, double *d, double *e, double *v) {
  e[n - 1] = 0;
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(d[i]) + fabs(e[i]));
  for (int64_t l = 0; l < n; l++) {
    for (int turn = 0;; turn++) {
      int64_t m = l;
      double least = turn < FEW_TURNS ? 0 : DBL_EPSILON * most;
      while (m + 1 < n && fabs(e[m]) > fmax(least, DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])))) m++;
      if (m == l) break;
      if (turn == MOST_TURNS) return 0;
      double g = (d[l + 1] - d[l]) / (2 * e[l]), r = sqrt(g * g + 1);
      g = d[m] - d[l] + e[l] / (g + copysign(r, g));
      double s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      for (; i >= l; i--) {
        double f = s * e[i], b = c * e[i];
        r = sqrt(f * f + g * g);
        if (r < 1e-140) r = hypot(f, g);  // the squares were too small
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
        rotate(v + i * n, v + (i + 1) * n, c, s, n);
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return 1;
}

int NAME(int64_t n, double *a, double *w, double *v, double *room) {
  double *e = room, *tau = room + 2 * n;
  tridiagonal(n, a, w, e, tau);
  reflections(n, a, tau, v);
  return diagonal(n, w, e, v);
}
