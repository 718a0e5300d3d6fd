// Devices that run a program together meet at places of it and hand each other arrays. They are threads of one process: each says where its array is and copies
// the others'. Within a loop that is ten to thirty times as fast as XLA's way.
#define _GNU_SOURCE
#include "ffi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// MOST_DEVICES is xlabridge.MaxCPUDevices; ROOMS is how many runs can be at a meeting at a time, FAILURES how many failed runs are remembered.
enum { MOST_DEVICES = 256, ROOMS = 64, FAILURES = 64 };

// SPINS is how often a device looks for the others, some hundred microseconds, before it lets go of its core; PATIENCE is the seconds after which it gives up.
enum { SPINS = 10000, PATIENCE = 3600 };

// run is what devices share that run a program together. Numbers of runs are a plugin's own, which its table of functions stands for.
typedef struct {
  const void *plugin;
  int64_t number;
} run;

typedef struct {
  run of;
  int64_t place;
  int taken, arrived, waiting;
  atomic_uint turns; // goes up each time that all have arrived
  const void *parts[MOST_DEVICES];
  int cores[MOST_DEVICES]; // on which the devices were when they came
  pthread_cond_t all;
} room;

static room rooms[ROOMS] = {[0 ... ROOMS - 1] = {.all = PTHREAD_COND_INITIALIZER}};
static struct {
  run of;
  char why[512];
} failures[FAILURES];
static int next_failure;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that is above, but for turns

static int same(run a, run b) { return a.plugin == b.plugin && a.number == b.number; }

// run_of is that of a call. Plugins whose table ends before the function for it run one program on several devices at a time.
static run run_of(xf_frame *frame) {
  run of = {frame->api, 0};
  if (frame->api->struct_size < offsetof(xf_api, run_id_get) + sizeof frame->api->run_id_get || frame->api->run_id_get == NULL) return of;
  xf_run_args args = {0};
  args.struct_size = offsetof(xf_run_args, run_id) + sizeof args.run_id;
  args.ctx = frame->ctx;
  if (frame->api->run_id_get(&args) == NULL) of.number = args.run_id;
  return of;
}

// failed is why a run has failed; NULL: it has not. The lock is held.
static const char *failed(run of) {
  for (int i = 0; i < FAILURES; i++)
    if (same(failures[i].of, of)) return failures[i].why;
  return NULL;
}

// xf_on_fail hears of a device that goes no further, so that the others do not wait for it.
void xf_on_fail(xf_frame *frame, const char *message) {
  if (frame->stage != XF_EXECUTE) return;
  run of = run_of(frame);
  if (of.number == 0) return;
  pthread_mutex_lock(&lock);
  if (!failed(of)) {
    failures[next_failure].of = of;
    snprintf(failures[next_failure].why, sizeof failures[next_failure].why, "%s", message);
    next_failure = (next_failure + 1) % FAILURES;
  }
  for (room *r = rooms; r < rooms + ROOMS; r++)
    if (r->taken && same(r->of, of)) pthread_cond_broadcast(&r->all);
  pthread_mutex_unlock(&lock);
}

// room_of is that of a run at a place, which the first to come takes; NULL: all are taken. The lock is held.
static room *room_of(run of, int64_t place) {
  room *vacant = NULL;
  for (room *r = rooms; r < rooms + ROOMS; r++) {
    if (r->taken && same(r->of, of) && r->place == place) return r;
    if (!r->taken && vacant == NULL) vacant = r;
  }
  if (vacant != NULL) {
    vacant->taken = 1;
    vacant->of = of;
    vacant->place = place;
    vacant->arrived = 0;
  }
  return vacant;
}

static inline void pause_a_little(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// apart moves the thread of the last device to arrive to another core if one that waits for it was on the same: the two would go on by turns, each waking the other where it is itself, for as
// long as the scheduler finds nothing wrong with that.
static void apart(const room *r, int64_t devices, int64_t mine) {
#if defined(__linux__)
  int here = sched_getcpu(), shared = 0;
  for (int64_t d = 0; d < devices; d++) shared += d != mine && r->cores[d] == here;
  cpu_set_t all, others;
  if (!shared || here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all) != 0) return;
  others = all;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof all, &all);
#endif
}

static int core(void) {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// arrive waits in a room until all devices have come; leave gives the room back then. The lock is held before, and not after. 0: they will not come.
static int arrive(room *r, int64_t devices, int64_t mine, int leave) {
  unsigned turn = atomic_load(&r->turns);
  r->cores[mine] = core();
  if (++r->arrived == devices) {
    r->arrived = 0;
    if (leave) r->taken = 0;
    if (r->waiting > 0) apart(r, devices, mine);
    atomic_fetch_add(&r->turns, 1);
    if (r->waiting > 0) pthread_cond_broadcast(&r->all);
    pthread_mutex_unlock(&lock);
    return 1;
  }
  pthread_mutex_unlock(&lock);
  static atomic_int cores;
  int n = atomic_load(&cores);
  if (n == 0) atomic_store(&cores, n = (int)sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = n < devices ? SPINS : 0; i < SPINS; i++) {
    if (atomic_load(&r->turns) != turn) return 1;
    pause_a_little();
  }
  pthread_mutex_lock(&lock);
  r->waiting++;
  // A second at a time: a process that was stopped has not waited.
  for (int seconds = 0; atomic_load(&r->turns) == turn && seconds < PATIENCE && !failed(r->of); seconds++) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&r->all, &lock, &until);
  }
  r->waiting--;
  int came = atomic_load(&r->turns) != turn;
  if (!came && --r->arrived == 0) r->taken = 0;
  pthread_mutex_unlock(&lock);
  return came;
}

static size_t bytes_of(const xf_buffer *b) {
  return (size_t)(xb_width(b->dtype) * xb_elements(b));
}

static xf_error *alone(xf_frame *frame, run of) {
  char why[sizeof failures[0].why];
  pthread_mutex_lock(&lock);
  const char *known = failed(of);
  snprintf(why, sizeof why, "%s", known != NULL ? known : "a device waited an hour for another one of its program");
  pthread_mutex_unlock(&lock);
  return xf_fail(frame, XF_RESOURCE_EXHAUSTED, why);
}

xf_error *xb_gather(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t count;
  const int64_t *config = xb_numbers(frame, &count);
  if (frame->args.size != 3 || frame->results.size != 1 || config == NULL || count != 2 || config[0] < 1 || config[0] > MOST_DEVICES)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather takes an array, the device's number and what has to be there before, and numbers of devices and place");
  const xf_buffer *in = frame->args.values[0], *device = frame->args.values[1], *out = frame->results.values[0];
  int64_t devices = config[0];
  size_t bytes = bytes_of(in);
  if (device->dtype != XF_S32 || device->rank != 0 || xb_width(in->dtype) == 0 || bytes_of(out) != bytes * (size_t)devices)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather: the device's number or the result are of another type or size than the number of devices wants");
  int64_t mine = *(const int32_t *)device->data;
  if (mine < 0 || mine >= devices) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather: there is no device of this number");
  run of = run_of(frame);

  pthread_mutex_lock(&lock);
  if (failed(of)) {
    pthread_mutex_unlock(&lock);
    return alone(frame, of);
  }
  room *r = room_of(of, config[1]);
  if (r == NULL) {
    pthread_mutex_unlock(&lock);
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_gather: too many programs on several devices run at a time");
  }
  r->parts[mine] = in->data;
  if (!arrive(r, devices, mine, 0)) return alone(frame, of);
  for (int64_t d = 0; d < devices; d++) memcpy((char *)out->data + (size_t)d * bytes, r->parts[d], bytes);
  // Nobody goes on, and perhaps overwrites what the others copy, before all have it.
  pthread_mutex_lock(&lock);
  if (!arrive(r, devices, mine, 1)) return alone(frame, of);
  return NULL;
}

xf_error *xb_after(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_after takes two arrays and gives the first");
  const xf_buffer *in = frame->args.values[0], *out = frame->results.values[0];
  if (xb_width(in->dtype) == 0 || bytes_of(in) != bytes_of(out))
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_after takes an array of a known type and gives one of its size");
  if (out->data != in->data) memcpy(out->data, in->data, bytes_of(in));
  return NULL;
}
