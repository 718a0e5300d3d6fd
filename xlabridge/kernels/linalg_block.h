// A file includes this once for each type of number, with T the type, W the numbers of a vector register, and NAME(x)
// the name of x for both.
#include "linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef LINALG_INLINE
#define LINALG_INLINE static inline __attribute__((always_inline))
enum { ROWS = 4, VECTORS = 2 };  // of the tile that less keeps in registers
#endif

typedef T NAME(vec) __attribute__((vector_size(sizeof(T) * W), may_alias, aligned(sizeof(T))));
#define VEC NAME(vec)
#define TILE (VECTORS * W)

// less takes from a tile of x, ROWS rows from row i on and TILE columns, the product of the same rows of t with rows
// from to i of x: x[i+r] -= sum of t(i+r, j) x[j]. t(i, j) lies at i * ti + j * tj.
LINALG_INLINE void NAME(less)(T *x, int64_t ld, int64_t i, int64_t from, const T *t, int64_t ti, int64_t tj) {
  VEC sum[ROWS][VECTORS];
  for (int r = 0; r < ROWS; r++)
    for (int v = 0; v < VECTORS; v++) sum[r][v] = *(VEC *)(x + (i + r) * ld + v * W);
  for (int64_t j = from; j < i; j++) {
    VEC row[VECTORS];
    for (int v = 0; v < VECTORS; v++) row[v] = *(VEC *)(x + j * ld + v * W);
    for (int r = 0; r < ROWS; r++) {
      T f = t[(i + r) * ti + j * tj];
      for (int v = 0; v < VECTORS; v++) sum[r][v] -= f * row[v];
    }
  }
  for (int r = 0; r < ROWS; r++)
    for (int v = 0; v < VECTORS; v++) *(VEC *)(x + (i + r) * ld + v * W) = sum[r][v];
}

// axpy is y[0..n) -= f x[0..n), by whole vectors: both have room for them.
LINALG_INLINE void NAME(axpy)(T *y, T f, const T *x, int64_t n) {
  for (int64_t c = 0; c < n; c += W) *(VEC *)(y + c) -= f * *(const VEC *)(x + c);
}

// axpyExact is axpy to the element.
LINALG_INLINE void NAME(axpyExact)(T *y, T f, const T *x, int64_t n) {
  int64_t whole = n - n % W;
  NAME(axpy)(y, f, x, whole);
  for (int64_t c = whole; c < n; c++) y[c] -= f * x[c];
}

LINALG_INLINE T NAME(dot)(const T *x, const T *y, int64_t n) {
  VEC sum = {0};
  int64_t c = 0;
  for (; c + W <= n; c += W) sum += *(const VEC *)(x + c) * *(const VEC *)(y + c);
  T s = 0;
  for (; c < n; c++) s += x[c] * y[c];
  for (int i = 0; i < W; i++) s += sum[i];
  return s;
}

// The upper factor u = l^T, row by row: a row of u is a row of a less what the rows above take from it.
static int NAME(cholesky)(int64_t count, int64_t n, const void *from, void *to) {
  int64_t ld = (n + TILE - 1) / TILE * TILE, rows = (n + ROWS - 1) / ROWS * ROWS;
  T *u = calloc(rows * ld + W, sizeof(T));  // the last vector of a row may run over its end, into what is not read
  if (u == NULL) return 0;
  for (int64_t m = 0; m < count; m++) {
    const T *a = (const T *)from + m * n * n;
    T *l = (T *)to + m * n * n;
    int well = 1;
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j <= i; j++) u[j * ld + i] = a[i * n + j];
    for (int64_t i = 0; i < n && well; i += ROWS) {
      for (int64_t c = i / TILE * TILE; c < ld; c += TILE) NAME(less)(u + c, ld, i, 0, u, 1, ld);
      for (int64_t r = i; r < i + ROWS && r < n; r++) {
        for (int64_t q = i; q < r; q++) NAME(axpy)(u + r * ld + r, u[q * ld + r], u + q * ld + r, n - r);
        T d = u[r * ld + r];
        if (!(d > 0)) {
          well = 0;
          break;
        }
        T root = (T)sqrt(d), f = (T)1 / root;
        for (int64_t c = r; c < n; c += W) *(VEC *)(u + r * ld + c) *= f;
        u[r * ld + r] = root;
      }
    }
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = 0; j <= i; j++) l[i * n + j] = well ? u[j * ld + i] : (T)NAN;
      for (int64_t j = i + 1; j < n; j++) l[i * n + j] = 0;
    }
    if (count > 1) memset(u, 0, rows * ld * sizeof(T));
  }
  free(u);
  return 1;
}

// one solves for a single contiguous right-hand side, in place: along rows of a where op is nothing, else along
// columns.
LINALG_INLINE void NAME(one)(int64_t n, int upper, int transposed, int unit, const T *a, T *x) {
  int down = upper == transposed;  // from the first unknown to the last
  for (int64_t k = 0; k < n; k++) {
    int64_t i = down ? k : n - 1 - k;
    const T *row = a + i * n;
    if (!transposed) x[i] -= upper ? NAME(dot)(row + i + 1, x + i + 1, n - 1 - i) : NAME(dot)(row, x, i);
    if (!unit) x[i] /= row[i];
    if (transposed && upper) NAME(axpyExact)(x + i + 1, x[i], row + i + 1, n - 1 - i);
    if (transposed && !upper) NAME(axpyExact)(x, x[i], row, i);
  }
}

// many solves for right-hand sides side by side, in place: rows of x are ld apart, which may be negative, as may ti and
// tj, and stand in the order in which they are solved for. There is room for whole tiles.
LINALG_INLINE void NAME(many)(int64_t n, int64_t k, int unit, const T *t, int64_t ti, int64_t tj, T *x, int64_t ld) {
  for (int64_t c = 0; c < k; c += TILE)
    for (int64_t i = 0; i < n; i += ROWS) {
      int64_t rest = n - i < ROWS ? n - i : ROWS;
      if (rest == ROWS) NAME(less)(x + c, ld, i, 0, t, ti, tj);
      for (int64_t r = i; r < i + rest; r++) {
        T *y = x + r * ld + c;
        for (int64_t j = rest == ROWS ? i : 0; j < r; j++) NAME(axpy)(y, t[r * ti + j * tj], x + j * ld + c, TILE);
        if (!unit)
          for (int v = 0; v < VECTORS; v++) *(VEC *)(y + v * W) /= t[r * (ti + tj)];
      }
    }
}

enum { NAME(few) = 4 };  // right-hand sides that are solved for one by one

static int NAME(solve)(int64_t count, int64_t n, int64_t k, int right, int upper, int transposed, int unit,
                       const void *of, const void *from, void *to) {
  if (right) {  // x op(a) = b: a row of x solves op(a)^T y = b
    memcpy(to, from, count * n * k * sizeof(T));
    for (int64_t m = 0; m < count; m++)
      for (int64_t i = 0; i < k; i++)
        NAME(one)(n, upper, !transposed, unit, (const T *)of + m * n * n, (T *)to + (m * k + i) * n);
    return 1;
  }
  if (k == 1) {
    memcpy(to, from, count * n * sizeof(T));
    for (int64_t m = 0; m < count; m++)
      NAME(one)(n, upper, transposed, unit, (const T *)of + m * n * n, (T *)to + m * n);
    return 1;
  }
  int by_one = k <= NAME(few), down = upper == transposed;
  int64_t ld = (k + TILE - 1) / TILE * TILE;
  T *work = calloc(by_one ? n : n * ld, sizeof(T));
  if (work == NULL) return 0;
  for (int64_t m = 0; m < count; m++) {
    const T *a = (const T *)of + m * n * n, *b = (const T *)from + m * n * k;
    T *x = (T *)to + m * n * k;
    if (by_one) {
      for (int64_t c = 0; c < k; c++) {
        for (int64_t i = 0; i < n; i++) work[i] = b[i * k + c];
        NAME(one)(n, upper, transposed, unit, a, work);
        for (int64_t i = 0; i < n; i++) x[i * k + c] = work[i];
      }
      continue;
    }
    int64_t ti = transposed ? 1 : n, tj = transposed ? n : 1;
    for (int64_t i = 0; i < n; i++) memcpy(work + i * ld, b + i * k, k * sizeof(T));
    if (down) NAME(many)(n, k, unit, a, ti, tj, work, ld);
    else NAME(many)(n, k, unit, a + (n - 1) * (ti + tj), -ti, -tj, work + (n - 1) * ld, -ld);
    for (int64_t i = 0; i < n; i++) memcpy(x + i * k, work + i * ld, k * sizeof(T));
  }
  free(work);
  return 1;
}

// Rows are swapped as they are found; the first of the largest elements is the pivot, a NaN the largest.
static int NAME(lu)(int64_t count, int64_t m, int64_t n, const void *from, void *to, int32_t *pivots, int32_t *order) {
  memcpy(to, from, count * m * n * sizeof(T));
  for (int64_t b = 0; b < count; b++, pivots += n, order += m) {
    T *a = (T *)to + b * m * n;
    for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
    for (int64_t k = 0; k < n; k++) {
      int64_t p = k;
      T top = (T)fabs(a[k * n + k]);
      for (int64_t i = k + 1; i < m && top == top; i++) {
        T v = (T)fabs(a[i * n + k]);
        if (!(v <= top)) top = v, p = i;
      }
      pivots[k] = (int32_t)p;
      if (p != k) {
        int32_t o = order[k];
        order[k] = order[p], order[p] = o;
        for (int64_t c = 0; c < n; c++) {
          T v = a[k * n + c];
          a[k * n + c] = a[p * n + c], a[p * n + c] = v;
        }
      }
      T d = a[k * n + k];
      if (d == 0) continue;
      for (int64_t i = k + 1; i < m; i++) {
        T f = a[i * n + k] / d;
        a[i * n + k] = f;
        NAME(axpyExact)(a + i * n + k + 1, f, a + k * n + k + 1, n - k - 1);
      }
    }
  }
  return 1;
}

// reflect is a = (1 - tau v v^T) a for a[m, n] with rows ld apart. Elements of v are step apart, w[n] is for its use.
// It goes along rows, so that AVX2 and AVX-512 have the same results. Plain C has no FMA, so it rounds in another way.
LINALG_INLINE void NAME(reflect)(T *a, int64_t ld, int64_t m, int64_t n, const T *v, int64_t step, T tau, T *w) {
  memset(w, 0, n * sizeof(T));
  for (int64_t i = 0; i < m; i++) NAME(axpyExact)(w, -v[i * step], a + i * ld, n);
  for (int64_t i = 0; i < m; i++) NAME(axpyExact)(a + i * ld, tau * v[i * step], w, n);
}

// Householder reflections (Golub and Van Loan, algorithms 5.1.1 and 5.2.1), of which the vectors stay in the columns of
// a copy of the matrix. It is scaled by a power of two, so that no square overflows.
static int NAME(qr)(int64_t count, int64_t m, int64_t n, const void *from, void *to_q, void *to_r) {
  int64_t k = m < n ? m : n;
  T *a = malloc((m * n + k + n) * sizeof(T)), *tau = a + m * n, *w = tau + k;
  if (a == NULL) return 0;
  for (int64_t b = 0; b < count; b++) {
    const T *x = (const T *)from + b * m * n;
    T *q = (T *)to_q + b * m * k, *r = (T *)to_r + b * k * n, top = 0;
    for (int64_t i = 0; i < m * n; i++) top = fabs(x[i]) > top ? (T)fabs(x[i]) : top;
    T scale = isnormal(top) ? (T)ldexp(1, ilogb(top)) : 1;
    for (int64_t i = 0; i < m * n; i++) a[i] = x[i] / scale;
    memset(r, 0, k * n * sizeof(T));
    memset(q, 0, m * k * sizeof(T));
    for (int64_t j = 0; j < k; j++) {
      T *v = a + j * n + j, alpha = *v, beta = alpha, below = 0;
      for (int64_t i = 1; i < m - j; i++) below += v[i * n] * v[i * n];
      tau[j] = 0;
      if (below != 0) {
        T norm = (T)sqrt(alpha * alpha + below);
        beta = alpha >= 0 ? -norm : norm;
        tau[j] = (beta - alpha) / beta;
        for (int64_t i = 1; i < m - j; i++) v[i * n] /= alpha - beta;
      }
      *v = 1;
      NAME(reflect)(v + 1, n, m - j, n - j - 1, v, n, tau[j], w);
      r[j * n + j] = beta * scale;
      for (int64_t c = j + 1; c < n; c++) r[j * n + c] = a[j * n + c] * scale;
      q[j * k + j] = 1;
    }
    for (int64_t j = k - 1; j >= 0; j--)
      NAME(reflect)(q + j * k + j, k, m - j, k - j, a + j * n + j, n, tau[j], w);
  }
  free(a);
  return 1;
}

const xb_linalg NAME(linalg) = {NAME(cholesky), NAME(solve), NAME(lu), NAME(qr)};

#undef VEC
#undef TILE
