// Devices that run a program together meet at places of it and hand each other arrays. They are threads of one process: each says where its array is and copies
// the others'. Within a loop that is ten to thirty times as fast as XLA's way.
#include "ffi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// MOST_DEVICES is above xlabridge.MaxCPUDevices; ROOMS is how many runs can be at a meeting at a time.
enum { MOST_DEVICES = 256, ROOMS = 64 };

// SPINS is how often a device looks for the others, some ten microseconds, before it lets go of its core; PATIENCE is the seconds after which it gives up.
enum { SPINS = 10000, PATIENCE = 3600 };

typedef struct {
  int64_t run, place;
  int taken, arrived, waiting;
  atomic_uint turns; // goes up each time that all have arrived
  const void *parts[MOST_DEVICES];
  pthread_cond_t all;
} room;

static room rooms[ROOMS] = {[0 ... ROOMS - 1] = {.all = PTHREAD_COND_INITIALIZER}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// room_of is that of a run at a place, which the first to come takes; NULL: all are taken. The lock is held.
static room *room_of(int64_t run, int64_t place) {
  room *vacant = NULL;
  for (room *r = rooms; r < rooms + ROOMS; r++) {
    if (r->taken && r->run == run && r->place == place) return r;
    if (!r->taken && vacant == NULL) vacant = r;
  }
  if (vacant != NULL) {
    vacant->taken = 1;
    vacant->run = run;
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

// arrive waits in a room until devices have come. The lock is held before, and not after. 0: not all have.
static int arrive(room *r, int64_t devices, int leave) {
  unsigned turn = atomic_load(&r->turns);
  if (++r->arrived == devices) {
    r->arrived = 0;
    if (leave) r->taken = 0;
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
  for (int seconds = 0; atomic_load(&r->turns) == turn && seconds < PATIENCE; seconds++) { // a second at a time: a process that was stopped has not waited
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&r->all, &lock, &until);
  }
  r->waiting--;
  int came = atomic_load(&r->turns) != turn;
  pthread_mutex_unlock(&lock);
  return came;
}

static size_t bytes_of(const xf_buffer *b) {
  size_t size = 1;
  switch (b->dtype) {
    case XF_S16: case XF_U16: case XF_F16: case XF_BF16: size = 2; break;
    case XF_S32: case XF_U32: case XF_F32: size = 4; break;
    case XF_S64: case XF_U64: case XF_F64: size = 8; break;
  }
  for (int64_t i = 0; i < b->rank; i++) size *= (size_t)b->dims[i];
  return size;
}

xf_error *xb_gather(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  int64_t count;
  const int64_t *config = xb_numbers(frame, &count);
  if (frame->args.size != 3 || frame->results.size != 1 || config == NULL || count != 2 || config[0] < 1 || config[0] > MOST_DEVICES)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather takes an array, the device's number and what has to be there before, and numbers of devices and place");
  const xf_buffer *in = frame->args.values[0], *device = frame->args.values[1], *out = frame->results.values[0];
  int64_t devices = config[0], mine = *(const int32_t *)device->data;
  size_t bytes = bytes_of(in);
  if (device->dtype != XF_S32 || device->rank != 0 || mine < 0 || mine >= devices || bytes_of(out) != bytes * (size_t)devices)
    return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_gather: the device's number or the result do not fit the number of devices");
  xf_run_args run = {0};
  run.struct_size = offsetof(xf_run_args, run_id) + sizeof run.run_id;
  run.ctx = frame->ctx;
  xf_error *error = frame->api->run_id_get(&run);
  if (error != NULL) return error;

  pthread_mutex_lock(&lock);
  room *r = room_of(run.run_id, config[1]);
  if (r == NULL) {
    pthread_mutex_unlock(&lock);
    return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_gather: too many programs on several devices run at a time");
  }
  r->parts[mine] = in->data;
  if (!arrive(r, devices, 0)) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_gather: another device has not come for an hour");
  for (int64_t d = 0; d < devices; d++) memcpy((char *)out->data + (size_t)d * bytes, r->parts[d], bytes);
  // Nobody goes on, and perhaps overwrites what the others copy, before all have it.
  pthread_mutex_lock(&lock);
  if (!arrive(r, devices, 1)) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "xlarun_gather: another device has not come for an hour");
  return NULL;
}

xf_error *xb_after(xf_frame *frame) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  if (frame->args.size != 2 || frame->results.size != 1) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_after takes two arrays and gives the first");
  const xf_buffer *in = frame->args.values[0], *out = frame->results.values[0];
  if (bytes_of(in) != bytes_of(out)) return xf_fail(frame, XF_INVALID_ARGUMENT, "xlarun_after gives an array of another size");
  if (out->data != in->data) memcpy(out->data, in->data, bytes_of(in));
  return NULL;
}
