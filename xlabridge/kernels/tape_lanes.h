// tape_widths.h includes this with V, the vectors of a register, and NARROWER, the function for two vectors, or NULL.

typedef T NAMED(vector) __attribute__((vector_size(W * sizeof(T)), may_alias));
typedef BITS NAMED(truths) __attribute__((vector_size(W * sizeof(T)), may_alias));
#define vec NAMED(vector)
#define mask NAMED(truths)

#define SIGN ((mask)(-(vec){0}))
#define EVERY(number) (-(vec){0} + (number))  // keeps the sign of zero
#define PICK(m, x, y) ((vec)(((m) & (mask)(x)) | (~(m) & (mask)(y))))

// The sine of x, or its cosine, which is the sine a quarter of a turn ahead: x is r and a number of half turns, the
// cosine's less a half. Sums of products are FMA everywhere, so that the compiler has none to choose.
static inline vec NAMED(sine)(vec x, bool cosine) {
  vec turned = FMA(x, EVERY((T)0.31830988618379067), EVERY(cosine ? (T).5 : (T)0)) + SIZED(rounder);
  vec n = turned - SIZED(rounder);
  mask odd = (mask)turned << (8 * sizeof(T) - 1);
  if (cosine) n = n - (T).5;
  vec r = x;
  for (int i = 0; i < 3; i++) r = FMA(-n, EVERY(SIZED(parts)[i]), r);
  vec z = r * r, p = EVERY(SIZED(sine)[0]);
  for (int i = 1; i < (int)(sizeof SIZED(sine) / sizeof *SIZED(sine)); i++) p = FMA(p, z, EVERY(SIZED(sine)[i]));
  vec y = (vec)((mask)FMA(r * z, p, r) ^ odd);
  if (!cosine) y = PICK(x == 0, x, y);  // keeps the sign of zero
  mask far = ~(mask)((vec)((mask)x & ~SIGN) <= SIZED(far));
  BITS any = 0;
  for (int l = 0; l < W; l++) any |= far[l];
  if (any)
    for (int l = 0; l < W; l++)
      if (far[l]) y[l] = cosine ? SIZED(COS)(x[l]) : SIZED(SIN)(x[l]);
  return y;
}

static inline bool NAMED(any)(const vec *x) {
  mask m = (mask)x[0];
  for (int i = 1; i < V; i++) m |= (mask)x[i];
  BITS any = 0;
  for (int l = 0; l < W; l++) any |= m[l];
  return any;
}

#define REGISTER(i) (registers + (int64_t)(i) * V)
#define ALL for (int i = 0; i < V; i++)

// Runs the iterations that are left of a loop, or without one the tape. The registers of narrower functions follow.
static void NAMED(code)(const xb_tape *t, void *restrict memory, const xb_tape_loop *open) {
  void (*const narrower)(const xb_tape *, void *, const xb_tape_loop *) = NARROWER;
  vec *restrict registers = memory;
  xb_tape_loop loops[XB_TAPE_DEPTH], *loop = loops - 1;
  const int32_t *c = t->code, *end = c + t->words;
  if (open) *++loop = *open, c = loop->start;
#define ONE(...) \
  { \
    vec *o = REGISTER(c[1]); \
    const vec *x = REGISTER(c[2]); \
    c += 3; \
    ALL { \
      vec a = x[i]; \
      o[i] = (vec)(__VA_ARGS__); \
    } \
    NEXT; \
  }
#define TWO(...) \
  { \
    vec *o = REGISTER(c[1]); \
    const vec *x = REGISTER(c[2]), *y = REGISTER(c[3]); \
    c += 4; \
    ALL { \
      vec a = x[i], b = y[i]; \
      o[i] = (vec)(__VA_ARGS__); \
    } \
    NEXT; \
  }
#define THREE(...) \
  { \
    vec *o = REGISTER(c[1]); \
    const vec *x = REGISTER(c[2]), *y = REGISTER(c[3]), *z = REGISTER(c[4]); \
    c += 5; \
    ALL { \
      vec a = x[i], b = y[i], d = z[i]; \
      o[i] = (vec)(__VA_ARGS__); \
    } \
    NEXT; \
  }
  // A jump of its own behind each instruction, which the processor foresees better than one jump for all.
#define LABEL(name, words) &&do_##name,
  static const void *const labels[] = {XB_TAPE_OPS(LABEL)};
#define NEXT \
  if (c >= end) return; \
  goto *labels[*c]
  NEXT;
  do_ADD: TWO(a + b)
  do_SUB: TWO(a - b)
  do_MUL: TWO(a * b)
  do_DIV: TWO(a / b)
  // NaN if one is; -0 is less than 0.
  do_MIN: TWO(PICK(a == b, (mask)a | (mask)b, PICK((a < b) | (a != a), a, b)))
  do_MAX: TWO(PICK(a == b, (mask)a & (mask)b, PICK((a > b) | (a != a), a, b)))
  do_NEG: ONE((mask)a ^ SIGN)
  do_ABS: ONE((mask)a & ~SIGN)
  do_SQRT: ONE(SQRT(a))
  do_SIN: ONE(NAMED(sine)(a, false))
  do_COS: ONE(NAMED(sine)(a, true))
  do_LT: TWO(a < b)
  do_LE: TWO(a <= b)
  do_EQ: TWO(a == b)
  do_AND: TWO((mask)a & (mask)b)
  do_OR: TWO((mask)a | (mask)b)
  do_NOT: ONE(~(mask)a)
  do_SELECT: THREE(PICK((mask)a, b, d))
  do_FMA: THREE(FMA(a, b, d))
  do_FMS: THREE(FMA(a, b, (vec)((mask)d ^ SIGN)))
  do_FNMA: THREE(FMA((vec)((mask)a ^ SIGN), b, d))
  do_DOT: {
    vec *o = REGISTER(c[1]);
    int32_t n = c[2];
    c += 3;
    vec sum[V];  // in registers of the processor
#define TERM(k) \
  int32_t at_x = c[2 * (k)], at_y = c[2 * (k) + 1], minus = at_x >> 31; \
  const vec *x = REGISTER(at_x ^ minus), *y = REGISTER(at_y); \
  mask sign = SIGN & ((mask){0} + minus)
    {
      TERM(0);
      if (at_y < 0) ALL sum[i] = (vec)((mask)x[i] ^ sign);
      else ALL sum[i] = (vec)((mask)x[i] ^ sign) * y[i];
    }
    for (int32_t k = 1; k < n; k++) {
      TERM(k);
      ALL sum[i] = FMA((vec)((mask)x[i] ^ sign), y[i], sum[i]);
    }
    ALL o[i] = sum[i];
    c += 2 * n;
    NEXT;
  }
  do_MOVE: ONE(a)
  do_TRUE: {
    vec *o = REGISTER(c[1]);
    ALL o[i] = (vec)((mask){0} - 1);
    c += 2;
    NEXT;
  }
  do_ROW: {
    vec *o = REGISTER(c[1]), x = EVERY((T)t->numbers[c[2] + (int64_t)c[3] * loop->done]);
    ALL o[i] = x;
    c += 4;
    NEXT;
  }
  do_LOOP:
    (++loop)->trips = c[1], loop->done = 0, c += 2, loop->start = c;
    NEXT;
  do_NEXT:
    c++;
    if (++loop->done < loop->trips) c = loop->start;
    else loop--;
    NEXT;
  do_SKIP:
    c += NAMED(any)(REGISTER(c[1])) ? 3 : 3 + c[2];
    NEXT;
  do_WHILE: {
    const T *running = (const T *)REGISTER(c[1]);
    const int32_t *list = c + 4;
    bool ended = ++loop->done == loop->trips || !NAMED(any)(REGISTER(c[1]));
    if (!ended && narrower) {
      // Members that are ready would cost as much as those that are not: the latter go on in narrower registers, once
      // they are few. To bring what they read costs about as much as an iteration.
      enum { to = 2 * W };
      int16_t lanes[V * W];
      int n = 0;
      for (int l = 0; l < V * W; l++) lanes[n] = l, n += ((const BITS *)running)[l] != 0;
      if (n <= to) {
        T *wide = (T *)registers, *narrow = (T *)(registers + (t->values + t->constants) * V);
        for (int l = n; l < to; l++) lanes[l] = lanes[n - 1];
        for (int32_t r = 0; r < c[2]; r++)
          for (int l = 0; l < to; l++) narrow[(int64_t)list[r] * to + l] = wide[(int64_t)list[r] * V * W + lanes[l]];
        narrower(t, narrow, loop);
        for (int32_t r = 0; r < c[3]; r++)
          for (int l = 0; l < n; l++) wide[(int64_t)list[r] * V * W + lanes[l]] = narrow[(int64_t)list[r] * to + l];
        ended = true;
      }
    }
    if (!ended) {
      c = loop->start;
      NEXT;
    }
    if (open && loop == loops) return;
    loop--, c = list + c[2];
    NEXT;
  }
}

// Members go to lanes. Lanes that are left over are copies of the last member.
int64_t NAMED(run)(const xb_tape *t, void *memory) {
  enum { LANES = V * W };
  vec *registers = memory;
  T *lanes = memory;
  for (int64_t k = 0; k < t->constants; k++)
    ALL REGISTER(t->values + k)[i] = EVERY((T)t->numbers[k]);
  int64_t n = t->members < LANES ? t->members : LANES, r = 0;
  for (int64_t k = 0; k < t->ins; k++) {
    int64_t width = t->in[k].width;
    const T *x = t->in[k].data;
    for (int64_t j = 0; j < width; j++, r++)
      for (int64_t l = 0; l < LANES; l++) lanes[r * LANES + l] = x[t->which[l < n ? l : n - 1] * width + j];
  }
  NAMED(code)(t, memory, NULL);
  const int32_t *out = t->outs;
  for (int64_t k = 0; k < t->results; k++) {
    int64_t width = t->out[k].width;
    T *x = t->out[k].data;
    for (int64_t j = 0; j < width; j++, out++)
      for (int64_t l = 0; l < n; l++) x[t->which[l] * width + j] = lanes[*out * LANES + l];
  }
  return n;
}

#undef V
#undef NARROWER
