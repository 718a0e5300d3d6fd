// Normal numbers of random bits, sqrt(2)·erfinv(u), in TOGETHER vectors of W words: bit for bit what XLA's CPU compiler
// makes of the ops that random.Normal is on other targets. It is M. Giles' erfinv ("Approximating the erfinv function",
// GPU Computing Gems Jade, 2011) of log(1 - u²), which near 0 is a quotient of polynomials, and elsewhere Cephes' logf.
// The rare tails have a branch, and what the compiler does for infinities and NaN is left out.
typedef float vecf __attribute__((vector_size(4 * W)));
typedef int32_t veci __attribute__((vector_size(4 * W)));

#define EACH for (int i = 0; i < TOGETHER; i++)
#define ALL(c) ((vecf){0} + (c))
#define PICK(yes, x, y) ((vecf)(((yes) & (veci)(x)) | (~(yes) & (veci)(y))))
#define POLYNOMIAL(y, x, ...) polynomial(y, x, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / 4)

// polynomial is Horner's rule, from the highest power down; each step is rounded once.
static inline __attribute__((always_inline)) void polynomial(vecf *y, const vecf *x, const float *c, int n) {
  EACH y[i] = ALL(c[0]);
#pragma GCC unroll 9
  for (int k = 1; k < n; k++) EACH y[i] = FMA32(y[i], x[i], ALL(c[k]));
}

static inline void log_of(const vecf *x, vecf *y) {  // of 0 < x <= 1
  vecf e[TOGETHER], m[TOGETHER], m3[TOGETHER], y1[TOGETHER], y2[TOGETHER];
  EACH {
    e[i] = __builtin_convertvector((veci)((vec)x[i] >> 23) - 127, vecf) + 1;
    m[i] = (vecf)(((veci)x[i] & 0x7fffff) | 0x3f000000);
    veci low = m[i] < ALL(.70710677f);
    e[i] -= (vecf)(low & (veci)ALL(1));
    m[i] = (m[i] - 1) + (vecf)(low & (veci)m[i]);
    m3[i] = m[i] * m[i] * m[i];
  }
  POLYNOMIAL(y, m, .070376836f, -.1151461f, .116769984f);
  POLYNOMIAL(y1, m, -.12420141f, .14249323f, -.16668057f);
  POLYNOMIAL(y2, m, .20000714f, -.24999994f, .3333333f);
  EACH {
    vecf z = FMA32(m3[i], FMA32(FMA32(y[i], m3[i], y1[i]), m3[i], y2[i]), e[i] * -.00021219444f);
    y[i] = FMA32(e[i], ALL(.6933594f), FMA32(m[i] * m[i], ALL(-.5f), m[i]) + z);
  }
}

static inline void log1p_of(const vecf *q, vecf *y) {  // of -1 < q <= 0
  vecf over[TOGETHER], under[TOGETHER], x[TOGETHER];
  POLYNOMIAL(over, q, 4.527e-05f, .49854103f, 6.5787325f, 29.911919f, 60.94967f, 57.112965f, 20.039553f);
  POLYNOMIAL(under, q, 1, 15.062909f, 83.04757f, 221.7624f, 309.09872f, 216.42789f, 60.11866f);
  EACH x[i] = 1 + q[i];
  log_of(x, y);
  EACH {
    vecf q2 = q[i] * q[i], near = q[i] + FMA32(q2, ALL(-.5f), q[i] * q2 * (over[i] / under[i]));
    y[i] = PICK(-q[i] < ALL(.41421357f), near, y[i]);
  }
}

static inline void normals_of(vec *bits) {
  vecf u[TOGETHER], q[TOGETHER], log[TOGETHER], w[TOGETHER], y[TOGETHER], far[TOGETHER];
  EACH {
    u[i] = FMA32((vecf)((bits[i] >> 9) | 0x3f800000) - 1, ALL(2), ALL(-.99999994f));
    q[i] = u[i] * -u[i];
  }
  log1p_of(q, log);
  veci tails = {0};
  EACH w[i] = -2.5f - log[i], tails |= log[i] <= ALL(-5);
  POLYNOMIAL(y, w, 2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, .00021858087f, -.00125372503f,
             -.00417768164f, .246640727f, 1.50140941f);
  if (ANY(tails)) {
    EACH w[i] = SQRT32(-log[i]) - 3;
    POLYNOMIAL(far, w, -.000200214257f, .000100950558f, .00134934322f, -.00367342844f, .00573950773f, -.0076224613f,
               .00943887047f, 1.00167406f, 2.83297682f);
    EACH y[i] = PICK(log[i] <= ALL(-5), far[i], y[i]);
  }
  EACH bits[i] = (vec)(y[i] * u[i] * 1.4142135f);
}
