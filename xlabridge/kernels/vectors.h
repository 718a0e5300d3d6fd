// Which of the variants of a kernel this processor runs.
#ifndef XLARUN_VECTORS_H
#define XLARUN_VECTORS_H

// In the order of what they ask for: x86-64-v3 and x86-64-v4, as the variants' files are compiled.
typedef enum { XB_PLAIN, XB_AVX2, XB_AVX512 } xb_vectors;

static inline xb_vectors xb_widest_vectors(void) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
      return XB_AVX512;
    return XB_AVX2;
  }
#endif
  return XB_PLAIN;
}

#endif
