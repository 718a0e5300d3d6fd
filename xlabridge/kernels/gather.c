// The kernel xlarun_gather: an all-gather of the devices that run a program together. They are threads of one process:
// each publishes the address of its array, and copies the arrays of the others. Inside a loop this is ten to thirty
// times as fast as XLA's collectives.
#define _GNU_SOURCE
#include "ffi.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// MOST_DEVICES is xlabridge.MaxCPUDevices, MOST_RENDEZVOUS the number of runs that can gather at a time, FAILURES the
// number of failed runs that are remembered.
enum { MOST_DEVICES = 256, MOST_RENDEZVOUS = 64, FAILURES = 64 };

// A device polls for the others SPINS times, some hundred microseconds, before it sleeps. After TIMEOUT_SECONDS it
// gives up.
enum { SPINS = 10000, TIMEOUT_SECONDS = 3600 };

// run identifies one run of a program on several devices. Each plugin numbers its own runs. The plugin's function table
// identifies the plugin.
typedef struct {
  const void *plugin;
  int64_t number;
} run;

// rendezvous is where the devices of a run wait for each other. place is the number of the gather in the program.
typedef struct {
  run of;
  int64_t place;
  int in_use, arrived, waiting;
  atomic_uint generation;  // rises each time that all have arrived
  const void *parts[MOST_DEVICES];
  int cores[MOST_DEVICES];  // the core of each device when it arrived
  pthread_cond_t all;
} rendezvous;

static rendezvous all_rendezvous[MOST_RENDEZVOUS] = {[0 ... MOST_RENDEZVOUS - 1] = {.all = PTHREAD_COND_INITIALIZER}};
static struct {
  run of;
  char reason[512];
} failures[FAILURES];
static int next_failure;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of all variables above, except generation

static int same(run a, run b) { return a.plugin == b.plugin && a.number == b.number; }

// current_run returns the run of a call. Its number is 0 if the plugin does not say it. Such a plugin must run one
// program on several devices at a time.
static run current_run(xf_frame *frame) {
  run of = {frame->api, 0};
  if (frame->api->struct_size < offsetof(xf_api, run_id_get) + sizeof frame->api->run_id_get ||
      frame->api->run_id_get == NULL)
    return of;
  xf_run_args args = {0};
  args.struct_size = offsetof(xf_run_args, run_id) + sizeof args.run_id;
  args.ctx = frame->ctx;
  if (frame->api->run_id_get(&args) == NULL) of.number = args.run_id;
  return of;
}

// failure_of returns the reason why a run has failed, or NULL if it has not. The caller holds the lock.
static const char *failure_of(run of) {
  for (int i = 0; i < FAILURES; i++)
    if (same(failures[i].of, of)) return failures[i].reason;
  return NULL;
}

// xf_on_fail is called when a kernel fails on a device, so that the other devices do not wait for it.
void xf_on_fail(xf_frame *frame, const char *message) {
  if (frame->stage != XF_EXECUTE) return;
  run of = current_run(frame);
  if (of.number == 0) return;
  pthread_mutex_lock(&lock);
  if (!failure_of(of)) {
    failures[next_failure].of = of;
    snprintf(failures[next_failure].reason, sizeof failures[next_failure].reason, "%s", message);
    next_failure = (next_failure + 1) % FAILURES;
  }
  for (rendezvous *r = all_rendezvous; r < all_rendezvous + MOST_RENDEZVOUS; r++)
    if (r->in_use && same(r->of, of)) pthread_cond_broadcast(&r->all);
  pthread_mutex_unlock(&lock);
}

// rendezvous_at returns the rendezvous of a run at a place. The first device to arrive reserves it. It returns NULL if
// all are in use. The caller holds the lock.
static rendezvous *rendezvous_at(run of, int64_t place) {
  rendezvous *vacant = NULL;
  for (rendezvous *r = all_rendezvous; r < all_rendezvous + MOST_RENDEZVOUS; r++) {
    if (r->in_use && same(r->of, of) && r->place == place) return r;
    if (!r->in_use && vacant == NULL) vacant = r;
  }
  if (vacant != NULL) {
    vacant->in_use = 1;
    vacant->of = of;
    vacant->place = place;
    vacant->arrived = 0;
  }
  return vacant;
}

static inline void spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// leave_shared_core moves this thread, of the last device to arrive, to another core if a waiting device was on the
// same one. Each of two such threads wakes the other on its own core, so they would take turns on it until the
// scheduler separates them.
static void leave_shared_core(const rendezvous *r, int64_t devices, int64_t device) {
#if defined(__linux__)
  int core = sched_getcpu(), shared = 0;
  for (int64_t d = 0; d < devices; d++) shared += d != device && r->cores[d] == core;
  cpu_set_t all, others;
  if (!shared || core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all) != 0) return;
  others = all;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof all, &all);
#endif
}

static int current_core(void) {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// barrier waits until all devices have arrived. It returns 0 if the run failed or the time is up. last tells that the
// rendezvous is not used again. The caller holds the lock, and barrier releases it.
static int barrier(rendezvous *r, int64_t devices, int64_t device, int last) {
  unsigned generation = atomic_load(&r->generation);
  r->cores[device] = current_core();
  if (++r->arrived == devices) {
    r->arrived = 0;
    if (last) r->in_use = 0;
    if (r->waiting > 0) leave_shared_core(r, devices, device);
    atomic_fetch_add(&r->generation, 1);
    if (r->waiting > 0) pthread_cond_broadcast(&r->all);
    pthread_mutex_unlock(&lock);
    return 1;
  }
  pthread_mutex_unlock(&lock);
  static atomic_int cores;
  int n = atomic_load(&cores);
  if (n == 0) atomic_store(&cores, n = (int)sysconf(_SC_NPROCESSORS_ONLN));
  // With fewer cores than devices, polling would keep a core from a device that has not arrived.
  for (int i = n < devices ? SPINS : 0; i < SPINS; i++) {
    if (atomic_load(&r->generation) != generation) return 1;
    spin_pause();
  }
  pthread_mutex_lock(&lock);
  r->waiting++;
  // It waits a second at a time, so that the time for which a process is stopped does not count.
  for (int seconds = 0; atomic_load(&r->generation) == generation && seconds < TIMEOUT_SECONDS && !failure_of(r->of);
       seconds++) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&r->all, &lock, &until);
  }
  r->waiting--;
  int complete = atomic_load(&r->generation) != generation;
  if (!complete && --r->arrived == 0) r->in_use = 0;
  pthread_mutex_unlock(&lock);
  return complete;
}

// failure_error returns the error of a device whose gather did not complete.
static xf_error *failure_error(xf_frame *frame, run of) {
  char message[sizeof failures[0].reason];
  pthread_mutex_lock(&lock);
  const char *reason = failure_of(of);
  snprintf(message, sizeof message, "%s",
           reason != NULL ? reason : "a device waited an hour for another one of its program");
  pthread_mutex_unlock(&lock);
  return xf_fail(frame, XF_RESOURCE_EXHAUSTED, message);
}

xf_error *xb_gather(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t count;
  const int64_t *config = xb_numbers(frame, &count);
  if (frame->args.size != 3 || frame->results.size != 1 || config == NULL || count != 2 || config[0] < 1 ||
      config[0] > MOST_DEVICES)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_gather takes an array, the device's number, an array that must be computed before, and the "
                   "numbers of devices and of the place");
  const xf_buffer *in = frame->args.values[0], *device = frame->args.values[1], *out = frame->results.values[0];
  int64_t devices = config[0];
  size_t bytes = xb_bytes(in);
  if (device->dtype != XF_S32 || device->rank != 0 || xb_width(in->dtype) == 0 ||
      xb_bytes(out) != bytes * (size_t)devices)
    return xf_fail(frame, XF_INVALID_ARGUMENT,
                   "xlarun_gather got a device's number or a result of a wrong type or size");
  int64_t index = *(const int32_t *)device->data;
  if (index < 0 || index >= devices)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather: there is no device of this number");
  run of = current_run(frame);

  pthread_mutex_lock(&lock);
  if (failure_of(of)) {
    pthread_mutex_unlock(&lock);
    return failure_error(frame, of);
  }
  rendezvous *r = rendezvous_at(of, config[1]);
  if (r == NULL) {
    pthread_mutex_unlock(&lock);
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_gather: too many programs on several devices run at a time");
  }
  r->parts[index] = in->data;
  if (!barrier(r, devices, index, 0)) return failure_error(frame, of);
  for (int64_t d = 0; d < devices; d++) memcpy((char *)out->data + (size_t)d * bytes, r->parts[d], bytes);
  // No device continues before all have copied: it could overwrite its own array.
  pthread_mutex_lock(&lock);
  if (!barrier(r, devices, index, 1)) return failure_error(frame, of);
  return NULL;
}
