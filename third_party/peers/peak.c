// The most float32 operations that the cores do: products and sums of vectors in registers, one thread a core.
// gcc -O3 -march=native -ffast-math -fopenmp peak.c -lm && echo 3 | ./a.out 10 (10^9 operations a run)
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#if defined(__SSE__)
#define IN_REGISTER(x) __asm__ volatile("" : "+x"(x))
#elif defined(__ARM_NEON)
#define IN_REGISTER(x) __asm__ volatile("" : "+w"(x))
#else
#error "peak.c knows the vectors of x86-64 and of ARM only"
#endif
#define SUMS 12 // independent: two units, each with a latency of four or five cycles
typedef float vec __attribute__((vector_size(BYTES)));
static double now() {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
int main(int c, char **v) {
  double work = atof(v[1]) * 1e9;
  for (int runs = 1, first = 1; first || scanf("%d", &runs) == 1; first = 0) {
    printf(first ? "{}" : "{\"seconds\":[");
    for (int r = 0; r < runs && !first; r++) {
      double t = now();
#pragma omp parallel
      {
        long turns = work / omp_get_num_threads() / (2 * SUMS * (BYTES / 4));
        vec s[SUMS], a = {0}, b = {0};
        a += .999f, b += .001f * (r + 1);
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) s[i] = b * (float)i;
        for (long k = 0; k < turns; k++) {
#pragma GCC unroll 12
          for (int i = 0; i < SUMS; i++) {
            s[i] = s[i] * a + b;
            IN_REGISTER(s[i]); // one turn after the other
          }
        }
#pragma GCC unroll 12
        for (int i = 1; i < SUMS; i++) s[0] += s[i];
        if (s[0][0] == 12345) fprintf(stderr, "%f", s[0][0]);
      }
      printf("%s%.9f", r ? "," : "", now() - t);
    }
    printf(first ? "\n" : "]}\n");
    fflush(stdout);
  }
}
