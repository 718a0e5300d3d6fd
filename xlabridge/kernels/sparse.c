#include "sparse_types.h"

#include <stdlib.h>

#include "vectors.h"

static xs_block *const blocks[][2] = {
    {xs_block_plain, xs_block_bf16_plain},
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    {xs_block_avx2, xs_block_bf16_avx2},
    {xs_block_avx512, xs_block_bf16_avx512},
#endif
};

int xs_paths(void) { return xb_widest_vectors() + 1; }

static int path = -1;

void xs_use(int p) { __atomic_store_n(&path, p < xs_paths() ? p : -1, __ATOMIC_RELAXED); }

static xs_block *choose(int bf16) {
  int p = __atomic_load_n(&path, __ATOMIC_RELAXED);
  return blocks[p < 0 ? xs_paths() - 1 : p][bf16 != 0];
}

// Work memory of this thread, kept from call to call.
static __thread char *memory;
static __thread size_t have;

// take gives n bytes from *at on, and moves it on to the next line of cache.
static void *take(char **at, size_t n) {
  void *p = *at;
  *at += (n + 63) & ~(size_t)63;
  return p;
}

// round16 rounds to the nearest bfloat16, to the even one of two.
static void round16(const float *from, float *to, int n) {
  for (int i = 0; i < n; i++) {
    union {
      float f;
      uint32_t u;
    } x = {from[i]};
    x.u = (x.u + 0x7fff + ((x.u >> 16) & 1)) & 0xffff0000u;
    to[i] = x.f;
  }
}

const char *xs_step(int count, xs_layer *layers, const uint8_t *x, const int32_t *labels, int lanes, int bf16,
                    float *stats) {
  if (count < 1 || count > XS_DEPTH) return "xlarun_sparse takes 1 to 16 layers";
  if (lanes < LANES || lanes % LANES != 0) return "xlarun_sparse takes a multiple of 32 examples";
  size_t unit = bf16 ? UNIT : 2 * UNIT, need = 64, widest = 0;
  for (int l = 0; l < count; l++) {
    const xs_layer *y = &layers[l];
    if ((size_t)y->outputs > widest) widest = y->outputs;
    need += 2 * unit * y->inputs + (bf16 ? sizeof(float) * (size_t)y->n + 64 : 0);
  }
  size_t classes = layers[count - 1].outputs;
  need += 2 * UNIT * classes + unit * classes + (bf16 ? 2 * UNIT * widest : 0);
  if (need > have) {
    free(memory);
    have = 0;
    memory = malloc(need);
    if (memory == NULL) return "no memory for xlarun_sparse";
    have = need;
  }
  char *at = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  xs_work work;
  for (int l = 0; l < count; l++) {
    xs_layer *y = &layers[l];
    work.values[l] = take(&at, unit * y->inputs);
    work.deltas[l] = take(&at, unit * y->inputs);
    if (bf16) {
      // Rounded, but as wide as they were: to spread two bytes over a vector takes two more instructions.
      float *w = take(&at, sizeof(float) * (size_t)y->n);
      round16(y->w, w, y->n);
      y->w = w;
    }
  }
  work.logits = take(&at, 2 * UNIT * classes);
  work.deltas[count] = bf16 ? take(&at, unit * classes) : work.logits;
  work.sums = bf16 ? take(&at, 2 * UNIT * widest) : NULL;
  stats[0] = stats[1] = 0;
  xs_block *block = choose(bf16);
  for (int b = 0; b < lanes; b += LANES) block(count, layers, x, labels, lanes, b, b == 0, &work, stats);
  return NULL;
}
