// What `xlarun bench --check` times beside a workload: whole generations of an evolution strategy on CartPole, written by
// hand with vectors of one fixed width, so that another compiler makes nearly the same code of it. It uses what the
// workload uses: threads that sleep between generations, vector units, the second-level cache (a tile of members in
// lock-step), memory (the noise is written by ask and read by tell).
//
//   cc -O3 -march=native -ffast-math -pthread -DMEMBERS=1024 -DHIDDEN=64 -DTILE=64 calibrate.c -lm -o calibrate
//   ./calibrate THREADS
//
// Each line "N" of stdin is answered by the seconds of processor time that N generations took on all threads, and a checksum.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 500
#define LANES 16
#define VECTORS (HIDDEN / LANES)
#define ROWS (4 + 1 + HIDDEN + 1 + 2) // of a member: first layer and its bias, second and its bias, last
#define MAX_THREADS 1024

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t bits __attribute__((vector_size(4 * LANES)));
typedef int32_t mask __attribute__((vector_size(4 * LANES)));
typedef struct { vec row[ROWS][VECTORS]; } member;
typedef struct { float x, v, angle, turn, sum, alive; } body;

static member *noise, *mean; // noise: MEMBERS of them, mean: the gradient, one a thread
static float fitness[MEMBERS];
static int threads;

// choose takes a where the mask is set: C has no ?: of vectors.
static inline vec choose(mask m, vec a, vec b) { return (vec)((m & (mask)a) | (~m & (mask)b)); }

static inline vec tanh_vec(vec x) {
  const vec most = (vec){} + 7.9f;
  x = choose(x < most, x, most);
  x = choose(x > -most, x, -most);
  vec y = x * x;
  vec p = y * -2.76076847742355e-16f + 2.00018790482477e-13f;
  p = p * y + -8.60467152213735e-11f;
  p = p * y + 5.12229709037114e-08f;
  p = p * y + 1.48572235717979e-05f;
  p = p * y + 6.37261928875436e-04f;
  p = p * y + 4.89352455891786e-03f;
  vec q = y * 1.19825839466702e-06f + 1.18534705686654e-04f;
  q = q * y + 2.26843463243900e-03f;
  q = q * y + 4.89352518554385e-03f;
  return p * x / q;
}

static inline bits rotate(bits x, int n) { return x << n | x >> (32 - n); }

// draw is a vector of threefry2x32, cut down to numbers of about a normal's spread.
static inline vec draw(uint32_t key, uint32_t counter) {
  static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key, 42, key ^ 42 ^ 0x1BD11BDA};
  bits a = (bits){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + counter + keys[0], b = (bits){} + keys[1];
  for (int i = 0; i < 5; i++) {
    for (int j = 0; j < 4; j++) {
      a += b;
      b = rotate(b, turns[i % 2][j]) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  vec u = __builtin_convertvector(a >> 9, vec) * 0x1p-22f - 1, y = u * u;
  return u * (((y * .9f + .3f) * y + .1f) * y + .8f);
}

static inline float total(vec x) {
  float s = 0;
  for (int i = 0; i < LANES; i++) s += x[i];
  return s;
}

static inline void step(const member *m, body *s) {
  const float in[4] = {s->x, s->v, s->angle, s->turn};
  vec h[VECTORS], g[4][VECTORS] = {}, y[2] = {};
  for (int j = 0; j < VECTORS; j++) {
    vec a = m->row[4][j];
    for (int i = 0; i < 4; i++) a += in[i] * m->row[i][j];
    h[j] = tanh_vec(a);
  }
  for (int i = 0; i < HIDDEN; i += 4) // four chains of sums
    for (int k = 0; k < 4; k++)
      for (int j = 0; j < VECTORS; j++) g[k][j] += h[i / LANES][i % LANES + k] * m->row[5 + i + k][j];
  for (int j = 0; j < VECTORS; j++) {
    vec a = tanh_vec(m->row[5 + HIDDEN][j] + ((g[0][j] + g[1][j]) + (g[2][j] + g[3][j])));
    y[0] += a * m->row[6 + HIDDEN][j];
    y[1] += a * m->row[7 + HIDDEN][j];
  }
  float force = total(y[1] - y[0]) > 0 ? 10 : -10, t = s->angle, t2 = t * t;
  float sine = t * (1 - t2 * (1 / 6.f - t2 / 120)), cosine = 1 - t2 * (.5f - t2 * (1 / 24.f - t2 / 720));
  float push = (force + .05f * s->turn * s->turn * sine) / 1.1f;
  float spin = (9.8f * sine - cosine * push) / (.5f * (4 / 3.f - .1f * cosine * cosine / 1.1f));
  s->x += .02f * s->v;
  s->v += .02f * (push - .05f * spin * cosine / 1.1f);
  s->angle += .02f * s->turn;
  s->turn += .02f * spin;
  s->sum += s->alive;
  if (s->x > 2.4f || s->x < -2.4f || s->angle > .2095f || s->angle < -.2095f) s->alive = 0, s->angle = 0, s->x = 0, s->v = 0, s->turn = 0;
}

// generation is one thread's part: ask, play and tell of its tiles.
static void generation(int thread) {
  const int tiles = (MEMBERS + TILE - 1) / TILE, vectors = ROWS * VECTORS;
  vec *sum = (vec *)&mean[thread];
  memset(sum, 0, sizeof(member));
  for (int tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; tile++) {
    int from = tile * TILE, to = from + TILE < MEMBERS ? from + TILE : MEMBERS;
    body s[TILE];
    for (int i = from; i < to; i++) {
      vec *w = (vec *)&noise[i];
      for (int k = 0; k < vectors; k++) w[k] = .3f * draw(i, k * LANES);
      s[i - from] = (body){.01f, .02f, .03f, -.01f, 0, 1};
    }
    for (int t = 0; t < STEPS; t++)
      for (int i = from; i < to; i++) step(&noise[i], &s[i - from]);
    for (int i = from; i < to; i++) fitness[i] = s[i - from].sum;
  }
  for (int tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; tile++)
    for (int i = tile * TILE; i < (tile + 1) * TILE && i < MEMBERS; i++)
      for (int k = 0; k < vectors; k++) sum[k] += fitness[i] * ((vec *)&noise[i])[k];
}

// The threads sleep until `round` moves on; the last that is through wakes the main thread.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, end = PTHREAD_COND_INITIALIZER;
static long rounds, busy;

static void *work(void *number) {
  for (long done = 0;; done++) {
    pthread_mutex_lock(&lock);
    while (rounds == done) pthread_cond_wait(&begin, &lock);
    pthread_mutex_unlock(&lock);
    generation((int)(intptr_t)number);
    pthread_mutex_lock(&lock);
    if (--busy == 0) pthread_cond_signal(&end);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > MAX_THREADS) return fprintf(stderr, "calibrate: got %d threads, wants 1 to %d\n", threads, MAX_THREADS), 2;
  noise = aligned_alloc(64, sizeof(member) * MEMBERS);
  mean = aligned_alloc(64, sizeof(member) * threads);
  if (!noise || !mean) return fprintf(stderr, "calibrate: no memory for %zu bytes\n", sizeof(member) * MEMBERS), 1;
  for (int i = 0; i < threads; i++) {
    pthread_t t;
    if (pthread_create(&t, 0, work, (void *)(intptr_t)i)) return fprintf(stderr, "calibrate: cannot start thread %d\n", i), 1;
  }
  for (long n; scanf("%ld", &n) == 1;) {
    double start = processor_time();
    for (long i = 0; i < n; i++) {
      pthread_mutex_lock(&lock);
      busy = threads;
      rounds++;
      pthread_cond_broadcast(&begin);
      while (busy) pthread_cond_wait(&end, &lock);
      pthread_mutex_unlock(&lock);
    }
    float check = 0; // so that the work is not left out
    for (int i = 0; i < MEMBERS; i++) check += fitness[i];
    for (int i = 0; i < threads; i++) check += total(mean[i].row[0][0]) * 1e-9f;
    printf("%.9f %g\n", processor_time() - start, check);
    fflush(stdout);
  }
}
