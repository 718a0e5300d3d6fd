// The largest elements of rows, in order.
#include <stdbool.h>
#include <stdlib.h>

#include "ffi.h"
#include "vectors.h"

// A rank orders the elements of a row by one number. Its upper half is the value, as an integer of the same order. Its
// lower half is the index from the end, so that the first of equal values is the largest.
typedef uint64_t rank;

enum { LEAST_BLOCK = 8, MOST_BLOCK = 64, FEW = 32 };  // elements of a block; ranks that are sorted by insertion

// ordered_f32 maps floats to integers of the same order: both zeros to one, NaN above all. It works on bits, because
// programs run with subnormal numbers as zeros.
static inline int32_t ordered_f32(const void *x, int64_t i) {
  int32_t bits = ((const int32_t *)x)[i], size = bits & INT32_MAX;
  return size > 0x7f800000 ? 0x7fc00000 : bits < 0 ? -size : size;
}

static inline int32_t ordered_s32(const void *x, int64_t i) { return ((const int32_t *)x)[i]; }

static inline rank rank_of(int32_t ordered, int64_t i) {
  return (uint64_t)((uint32_t)ordered ^ 0x80000000u) << 32 | (uint32_t)(UINT32_MAX - i);
}

static inline int32_t value_of(rank r) { return (int32_t)((uint32_t)(r >> 32) ^ 0x80000000u); }

// partition moves the k largest of n ranks, 0 < k < n, to the front.
static void partition(rank *a, int64_t n, int64_t k) {
  int64_t low = 0, high = n - 1;
  while (low < high) {
    // The middle of three is the pivot; no two ranks are equal.
    rank x = a[low], y = a[low + (high - low) / 2], z = a[high];
    rank pivot = x > y ? (y > z ? y : x > z ? z : x) : (x > z ? x : y > z ? z : y);
    int64_t i = low, j = high;
    while (i <= j) {
      while (a[i] > pivot) i++;
      while (a[j] < pivot) j--;
      if (i <= j) {
        rank t = a[i];
        a[i++] = a[j], a[j--] = t;
      }
    }
    if (k - 1 <= j) high = j;
    else if (k - 1 >= i) low = i;
    else return;
  }
}

static int descending(const void *a, const void *b) {
  rank x = *(const rank *)a, y = *(const rank *)b;
  return (x < y) - (x > y);
}

static void sort(rank *a, int64_t n) {
  if (n > FEW) {
    qsort(a, (size_t)n, sizeof *a, descending);
    return;
  }
  for (int64_t i = 1; i < n; i++) {
    rank r = a[i];
    int64_t j = i;
    for (; j > 0 && a[j - 1] < r; j--) a[j] = a[j - 1];
    a[j] = r;
  }
}

// LARGEST writes the ranks of the k largest of n elements, in order, to the front of `ranks`, which has room for n. If
// there are at least k blocks, the k-th largest maximum of a block is a lower bound of the k largest elements. Only
// elements from that bound on are ranked, and only blocks that have such elements are read again.
#define LARGEST(NAME, ORDERED, TARGET) \
  TARGET static void NAME(const void *x, int64_t n, int64_t k, rank *ranks, int32_t *maxima) { \
    int64_t block = MOST_BLOCK, count = 0; \
    while (block > LEAST_BLOCK && n / block < 2 * k) block /= 2; \
    int64_t blocks = n / block; \
    int32_t least = INT32_MIN; \
    if (blocks < k) blocks = 0; \
    for (int64_t b = 0; b < blocks; b++) { \
      int32_t most = INT32_MIN; \
      for (int64_t i = b * block; i < (b + 1) * block; i++) { \
        int32_t v = ORDERED(x, i); \
        most = v > most ? v : most; \
      } \
      maxima[b] = most; \
      ranks[b] = rank_of(most, b); \
    } \
    if (blocks > 0) { \
      if (blocks > k) partition(ranks, blocks, k); \
      rank last = ranks[0]; \
      for (int64_t i = 1; i < k; i++) last = ranks[i] < last ? ranks[i] : last; \
      least = value_of(last); \
    } \
    for (int64_t b = 0; b <= blocks; b++) { \
      if (b < blocks && maxima[b] < least) continue; \
      for (int64_t i = b * block, to = b < blocks ? i + block : n; i < to; i++) { \
        int32_t v = ORDERED(x, i); \
        ranks[count] = rank_of(v, i); \
        count += v >= least; \
      } \
    } \
    if (count > k) partition(ranks, count, k); \
    sort(ranks, k); \
  }

typedef void (*largest)(const void *x, int64_t n, int64_t k, rank *ranks, int32_t *blocks);

LARGEST(largest_f32, ordered_f32, )
LARGEST(largest_s32, ordered_s32, )

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2")))
LARGEST(largest_f32_avx2, ordered_f32, AVX2)
LARGEST(largest_s32_avx2, ordered_s32, AVX2)
#endif

static largest choose(bool floats) {
#ifdef __x86_64__
  if (xb_widest_vectors() >= XB_AVX2) return floats ? largest_f32_avx2 : largest_s32_avx2;
#endif
  return floats ? largest_f32 : largest_s32;
}

xf_error *xb_top_k(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);  // how many
  if (frame->args.size != 1 || frame->results.size != 2 || size != 1)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_top_k takes one array and a number and gives two arrays");
  const xf_buffer *x = frame->args.values[0], *values = frame->results.values[0], *indices = frame->results.values[1];
  bool floats = x->dtype == XF_F32;
  bool right = (floats || x->dtype == XF_S32) && values->dtype == x->dtype && indices->dtype == XF_S32 && x->rank > 0 &&
               values->rank == x->rank && indices->rank == x->rank;
  int64_t rows = 1;
  for (int64_t i = 0; right && i < x->rank; i++) {
    right = values->dims[i] == indices->dims[i];
    if (i < x->rank - 1) right = right && values->dims[i] == x->dims[i], rows *= x->dims[i];
  }
  int64_t n = right ? x->dims[x->rank - 1] : 0, k = right ? values->dims[x->rank - 1] : 0;
  if (!right || k < 1 || k > n || k != config[0] || n > INT32_MAX)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_top_k got arrays of wrong shapes or types");
  rank *ranks = malloc((size_t)(n + 1) * sizeof *ranks);
  int32_t *maxima = malloc((size_t)(n / LEAST_BLOCK + 1) * sizeof *maxima);
  if (ranks == NULL || maxima == NULL) {
    free(ranks), free(maxima);
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_top_k got no memory for its candidates");
  }
  largest largest_of_row = choose(floats);
  for (int64_t row = 0; row < rows; row++) {
    largest_of_row((const char *)x->data + row * n * 4, n, k, ranks, maxima);
    int32_t *v = (int32_t *)values->data + row * k, *at = (int32_t *)indices->data + row * k;
    for (int64_t i = 0; i < k; i++) {
      int32_t bits = value_of(ranks[i]);
      v[i] = floats && bits < 0 ? -bits | INT32_MIN : bits;
      at[i] = (int32_t)(UINT32_MAX - (uint32_t)ranks[i]);
    }
  }
  free(ranks), free(maxima);
  return NULL;
}
