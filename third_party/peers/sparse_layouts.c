// Layouts of the connections of 200 sparse networks 784-128-64-10, each with kernels of its own: forward, backward,
// SGD. All layouts hold the same networks: 98 % of the inputs of a unit are the same ones in all networks, the others
// are a network's own. sparse_layouts LAYOUT SECONDS STEPS THREADS runs until the seconds or the steps (0: no bound)
// are over.
//   aos      a struct of place and weight for each connection; one network and one example at a time
//   groups   GROUP networks side by side in vectors; each has places of its own, so units are gathered
//   aliased  the same, but the networks of a group alias one table of places for what they share
// sparse_layouts sweep SECONDS BYTES THREADS adds 1 to an array of BYTES in each thread, for the bandwidth of a cache.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef GROUP
#define GROUP 16
#endif
enum { LAYERS = 3, MEMBERS = 200, BATCH = 64, EXAMPLES = 512, WIDEST = 784, CLASSES = 10 };
static const int width[LAYERS + 1] = {784, 128, 64, 10};
static const double density[LAYERS] = {.1, .5, .5};
static const float rate = .5f / BATCH;

#define INLINE static inline __attribute__((always_inline))
#define LANES for (int j = 0; j < GROUP; j++)

// Connections of unit o of a layer are off[o] to off[o+1]. The first shared[o] of them are the same in all members.
static int off[LAYERS][WIDEST + 1], shared[LAYERS][WIDEST];
static float images[EXAMPLES][784];
static int labels[EXAMPLES];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static unsigned long long state = 1;
static double uniform(void) {  // splitmix64
  unsigned long long z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void *room(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (p == NULL) exit(1);
  return memset(p, 0, bytes);
}

// draw puts the inputs first to last of a unit into from, none twice.
static void draw(int *from, int first, int last, int inputs) {
  for (int k = first; k < last; k++) {
    int again = 1;
    while (again) {
      from[k] = uniform() * inputs;
      again = 0;
      for (int i = 0; i < k; i++) again |= from[i] == from[k];
    }
  }
}

// Networks as they are drawn, from which layouts are made.
static int *from[MEMBERS][LAYERS];
static float *weight[MEMBERS][LAYERS];

static void draw_all(void) {
  for (int e = 0; e < EXAMPLES; e++) {
    labels[e] = e % CLASSES;
    for (int i = 0; i < 784; i++) images[e][i] = uniform() < .2 ? uniform() : 0;
  }
  for (int l = 0; l < LAYERS; l++) {
    int in = width[l], out = width[l + 1], n = lround(density[l] * in * out), own = lround(.02 * n);
    for (int o = 0; o <= out; o++) off[l][o] = (long)n * o / out;
    int *common = room(sizeof(int) * n);
    for (int o = 0; o < out; o++) {
      shared[l][o] = off[l][o + 1] - off[l][o] - ((long)own * (o + 1) / out - (long)own * o / out);
      draw(common + off[l][o], 0, shared[l][o], in);
    }
    for (int m = 0; m < MEMBERS; m++) {
      from[m][l] = room(sizeof(int) * n), weight[m][l] = room(sizeof(float) * n);
      memcpy(from[m][l], common, sizeof(int) * n);
      for (int o = 0; o < out; o++) draw(from[m][l] + off[l][o], shared[l][o], off[l][o + 1] - off[l][o], in);
      for (int k = 0; k < n; k++) weight[m][l][k] = (uniform() + uniform() + uniform() - 1.5) * 2 * sqrt(2. * out / n);
    }
    free(common);
  }
}

// Bytes of weights, places and gradients that a kernel has read and written, of this thread; units are not counted.
static double moved;
static double bytes;
#pragma omp threadprivate(bytes)

typedef struct {
  int from;
  float w;
} connection;

typedef struct {
  connection *c[LAYERS];
  float *g[LAYERS];
} network;

static size_t set;  // bytes of what is worked on at a time: a network or a group

static void aos_of(network *net, int m) {
  set = 0;
  for (int l = 0; l < LAYERS; l++) {
    int n = off[l][width[l + 1]];
    net->c[l] = room(sizeof(connection) * n), net->g[l] = room(sizeof(float) * n);
    for (int k = 0; k < n; k++) net->c[l][k] = (connection){from[m][l][k], weight[m][l][k]};
    set += (sizeof(connection) + sizeof(float)) * n;
  }
}

// sparse_aos takes a step of SGD with one network and returns the sum of the losses.
__attribute__((noinline)) double sparse_aos(network *net, int first) {
  float units[LAYERS + 1][WIDEST], deltas[LAYERS + 1][WIDEST];
  double loss = 0, read = 0;
  for (int e = first; e < first + BATCH; e++) {
    memcpy(units[0], images[e], sizeof images[e]);
    for (int l = 0; l < LAYERS; l++) {
      const connection *c = net->c[l];
      for (int o = 0; o < width[l + 1]; o++) {
        float s = 0;
        for (int k = off[l][o]; k < off[l][o + 1]; k++) s += c[k].w * units[l][c[k].from];
        units[l + 1][o] = l + 1 < LAYERS && s < 0 ? 0 : s;
      }
      read += 8. * off[l][width[l + 1]];
    }
    float top = units[LAYERS][0], sum = 0;
    for (int i = 1; i < CLASSES; i++) top = fmaxf(top, units[LAYERS][i]);
    for (int i = 0; i < CLASSES; i++) sum += deltas[LAYERS][i] = expf(units[LAYERS][i] - top);
    loss += logf(sum) - (units[LAYERS][labels[e]] - top);
    for (int i = 0; i < CLASSES; i++) deltas[LAYERS][i] = deltas[LAYERS][i] / sum - (i == labels[e]);
    for (int l = LAYERS - 1; l >= 0; l--) {
      const connection *c = net->c[l];
      float *g = net->g[l];
      memset(deltas[l], 0, sizeof deltas[l]);
      for (int o = 0; o < width[l + 1]; o++) {
        float d = l + 1 < LAYERS && units[l + 1][o] <= 0 ? 0 : deltas[l + 1][o];
        if (d == 0) continue;
        read += 16. * (off[l][o + 1] - off[l][o]);
        for (int k = off[l][o]; k < off[l][o + 1]; k++) {
          g[k] += d * units[l][c[k].from];
          if (l > 0) deltas[l][c[k].from] += d * c[k].w;
        }
      }
    }
  }
  for (int l = 0; l < LAYERS; l++) {
    int n = off[l][width[l + 1]];
    for (int k = 0; k < n; k++) net->c[l][k].w -= rate * net->g[l][k], net->g[l][k] = 0;
    read += 16. * n;
  }
  bytes += read;
  return loss;
}

// A group holds GROUP networks: number k of network j is at k * GROUP + j.
typedef struct {
  float *w[LAYERS], *g[LAYERS];
  int *at[LAYERS];     // of networks by themselves: where in the units
  int *alias[LAYERS];  // where all networks of the group have the same input; NULL: nowhere
  int members;
} group;

static void group_of(group *p, int first, int aliased) {
  set = 0;
  p->members = MEMBERS - first < GROUP ? MEMBERS - first : GROUP;
  for (int l = 0; l < LAYERS; l++) {
    int n = off[l][width[l + 1]], next = 0;
    p->w[l] = room(sizeof(float) * n * GROUP), p->g[l] = room(sizeof(float) * n * GROUP);
    p->at[l] = room(sizeof(int) * n * GROUP), p->alias[l] = aliased ? room(sizeof(int) * n) : NULL;
    for (int o = 0; o < width[l + 1]; o++)
      for (int k = off[l][o]; k < off[l][o + 1]; k++) {
        int both = aliased && k - off[l][o] < shared[l][o];
        if (both) p->alias[l][k] = from[first][l][k] * (l > 0 ? GROUP : 1);
        LANES {
          int m = first + (j < p->members ? j : 0);  // lanes without a member repeat the first
          p->w[l][k * GROUP + j] = weight[m][l][k];
          if (!both) p->at[l][next * GROUP + j] = l > 0 ? from[m][l][k] * GROUP + j : from[m][l][k];
        }
        next += !both;
      }
    set += 8lu * n * GROUP + 4lu * next * GROUP + (aliased ? 4lu * (n - next) : 0);
  }
}

// alone and alike are the two ways to read the input of connection k: by gathering, or the same for all networks.
INLINE void forward(const group *p, int l, const float *in, float *out, int aliased) {
  const float *w = p->w[l];
  const int *at = p->at[l];
  int hidden = l + 1 < LAYERS;
  for (int o = 0; o < width[l + 1]; o++) {
    float s[GROUP] = {0};
    int k = off[l][o], end = off[l][o + 1];
    if (aliased) {
      for (int stop = k + shared[l][o]; k < stop; k++) {
        const float *x = in + p->alias[l][k];
        if (l == 0) LANES s[j] += w[k * GROUP + j] * x[0];
        else LANES s[j] += w[k * GROUP + j] * x[j];
      }
    }
    for (; k < end; k++, at += GROUP) LANES s[j] += w[k * GROUP + j] * in[at[j]];
    LANES out[o * GROUP + j] = hidden && s[j] < 0 ? 0 : s[j];
  }
}

INLINE void backward(const group *p, int l, const float *in, const float *out, const float *delta, float *to,
                     int aliased) {
  const float *w = p->w[l];
  float *g = p->g[l];
  const int *at = p->at[l];
  for (int o = 0; o < width[l + 1]; o++) {
    float d[GROUP];
    LANES d[j] = l + 1 < LAYERS && out[o * GROUP + j] <= 0 ? 0 : delta[o * GROUP + j];
    int k = off[l][o], end = off[l][o + 1];
    if (aliased) {
      for (int stop = k + shared[l][o]; k < stop; k++) {
        const float *x = in + p->alias[l][k];
        if (l == 0) {
          LANES g[k * GROUP + j] += d[j] * x[0];
          continue;
        }
        float *t = to + p->alias[l][k];
        LANES g[k * GROUP + j] += d[j] * x[j];
        LANES t[j] += d[j] * w[k * GROUP + j];
      }
    }
    for (; k < end; k++, at += GROUP) {
      LANES g[k * GROUP + j] += d[j] * in[at[j]];
      if (l == 0) continue;
#pragma GCC ivdep
      LANES to[at[j]] += d[j] * w[k * GROUP + j];  // each network has places of its own
    }
  }
}

INLINE double step(group *p, int first, int aliased) {
  static __thread float units[LAYERS + 1][WIDEST * GROUP] __attribute__((aligned(64)));
  static __thread float deltas[LAYERS + 1][WIDEST * GROUP] __attribute__((aligned(64)));
  double loss = 0, read = 0;
  for (int l = 0; l < LAYERS; l++) {
    double n = off[l][width[l + 1]], places = 0;
    for (int o = 0; o < width[l + 1]; o++) {
      double same = aliased ? shared[l][o] : 0;
      places += 4 * same + 4 * GROUP * (off[l][o + 1] - off[l][o] - same);
    }
    read += BATCH * (n * GROUP * (l > 0 ? 16 : 12) + 2 * places) + 16 * n * GROUP;
  }
  bytes += read;
  for (int e = first; e < first + BATCH; e++) {
    const float *in[LAYERS] = {images[e], units[1], units[2]};
    forward(p, 0, in[0], units[1], aliased);
    forward(p, 1, in[1], units[2], aliased);
    forward(p, 2, in[2], units[3], aliased);
    const float *y = units[LAYERS];
    float *d = deltas[LAYERS], top[GROUP], sum[GROUP] = {0};
    LANES top[j] = y[j];
    for (int i = 1; i < CLASSES; i++) LANES top[j] = fmaxf(top[j], y[i * GROUP + j]);
    for (int i = 0; i < CLASSES; i++) LANES sum[j] += d[i * GROUP + j] = expf(y[i * GROUP + j] - top[j]);
    for (int j = 0; j < p->members; j++) loss += logf(sum[j]) - (y[labels[e] * GROUP + j] - top[j]);
    for (int i = 0; i < CLASSES; i++) LANES d[i * GROUP + j] = d[i * GROUP + j] / sum[j] - (i == labels[e]);
    for (int l = 1; l < LAYERS; l++) memset(deltas[l], 0, sizeof(float) * width[l] * GROUP);
    backward(p, 2, in[2], units[3], deltas[3], deltas[2], aliased);
    backward(p, 1, in[1], units[2], deltas[2], deltas[1], aliased);
    backward(p, 0, in[0], units[1], deltas[1], NULL, aliased);
  }
  for (int l = 0; l < LAYERS; l++) {
    int n = off[l][width[l + 1]] * GROUP;
    float *w = p->w[l], *g = p->g[l];
    for (int k = 0; k < n; k++) w[k] -= rate * g[k], g[k] = 0;
  }
  return loss;
}

// sparse_groups and sparse_aliased take a step of SGD with one group.
__attribute__((noinline)) double sparse_groups(group *p, int first) { return step(p, first, 0); }
__attribute__((noinline)) double sparse_aliased(group *p, int first) { return step(p, first, 1); }

__attribute__((noinline)) static void sweep(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] += 1;
}

int main(int count, char **words) {
  if (count != 5) return 2;
  const char *layout = words[1];
  double seconds = atof(words[2]), start;
  long most = atol(words[3]), steps = 0;
  int threads = atoi(words[4]);
  omp_set_num_threads(threads);
  if (strcmp(layout, "sweep") == 0) {
    double gigabytes = 0;
#pragma omp parallel reduction(+ : gigabytes)
    {
      float *x = room(most);
      sweep(x, most / sizeof(float));
      double begin = now();
      long times = 0;
      for (; now() < begin + seconds; times++) sweep(x, most / sizeof(float));
      gigabytes += 2e-9 * most * times / (now() - begin);
    }
    printf("{\"gigabytes\": %g}\n", gigabytes);
    return 0;
  }
  int aos = strcmp(layout, "aos") == 0, aliased = strcmp(layout, "aliased") == 0;
  if (!aos && !aliased && strcmp(layout, "groups") != 0) return 2;
  draw_all();
  int sets = aos ? MEMBERS : (MEMBERS + GROUP - 1) / GROUP;
  network *networks = room(sizeof(network) * sets);
  group *all = room(sizeof(group) * sets);
  for (int i = 0; i < sets; i++) {
    if (aos) aos_of(&networks[i], i);
    else group_of(&all[i], i * GROUP, aliased);
  }
  double loss = 0;
  for (start = now(); (most == 0 || steps < most) && now() < start + seconds; steps += BATCH) {
    int first = steps % EXAMPLES;
    loss = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : loss)
    for (int i = 0; i < sets; i++)
      loss += aos       ? sparse_aos(&networks[i], first)
              : aliased ? sparse_aliased(&all[i], first)
                        : sparse_groups(&all[i], first);
  }
  seconds = now() - start;
#pragma omp parallel reduction(+ : moved)
  moved += bytes;
  printf("{\"steps\": %ld, \"seconds\": %.6f, \"loss\": %.6f, \"set\": %zu, \"moved\": %g, \"connections\": %d}\n",
         steps, seconds, loss / BATCH / MEMBERS, set, moved / steps, off[0][128] + off[1][64] + off[2][10]);
}
