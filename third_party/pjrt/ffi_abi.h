/*
 * The part of XLA's FFI ABI (major version 0) that kernels of our own touch, written down from the published interface:
 * how XLA calls a handler, and how a plugin's FFI extension takes one. Only names, order and sizes of fields are facts
 * of that ABI; see README.md.
 */
#ifndef XLARUN_FFI_ABI_H
#define XLARUN_FFI_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct xf_error xf_error;

/* A link of an extension chain; PJRT's and FFI's have the same shape. */
typedef struct xf_extension {
  size_t struct_size;
  int type;
  struct xf_extension *next;
} xf_extension;

#define XF_HEAD       \
  size_t struct_size; \
  xf_extension *extension_start

typedef struct {
  XF_HEAD;
  int major_version;
  int minor_version;
} xf_version;

/* Values of xf_buffer.dtype. */
enum {
  XF_PRED = 1,
  XF_S8 = 2,
  XF_S16 = 3,
  XF_S32 = 4,
  XF_S64 = 5,
  XF_U8 = 6,
  XF_U16 = 7,
  XF_U32 = 8,
  XF_U64 = 9,
  XF_F16 = 10,
  XF_F32 = 11,
  XF_F64 = 12,
  XF_C64 = 15,
  XF_BF16 = 16
};

typedef struct {
  XF_HEAD;
  int dtype;
  void *data;
  int64_t rank;
  int64_t *dims; /* rank numbers */
} xf_buffer;

/* Arguments and results: size pointers, each to an xf_buffer where the type is XF_BUFFER. */
enum { XF_BUFFER = 1 };

typedef struct {
  XF_HEAD;
  int64_t size;
  int *types;
  void **values;
} xf_values;

/* Attributes, ordered by name. An array attribute is an xf_array. */
enum { XF_ARRAY = 1 };

typedef struct {
  const char *text;
  size_t length;
} xf_name;

typedef struct {
  int dtype;
  size_t size;
  void *data;
} xf_array;

typedef struct {
  XF_HEAD;
  int64_t size;
  int *types;
  xf_name **names;
  void **values;
} xf_attributes;

typedef struct {
  XF_HEAD;
  const char *message;
  int code;
} xf_error_args;

enum { XF_INVALID_ARGUMENT = 3, XF_RESOURCE_EXHAUSTED = 8 };

typedef struct {
  XF_HEAD;
  void *ctx;
  int64_t run_id; /* result: the same for all devices that run a program together */
} xf_run_args;

/* A task for XLA's pool of threads, which may run it in any thread, also in the caller's. */
typedef struct {
  XF_HEAD;
  void *ctx;
  void (*task)(void *data);
  void *data;
} xf_schedule_args;

typedef struct {
  XF_HEAD;
  void *ctx;
  int64_t *count; /* result: the pool's threads */
} xf_threads_args;

/* XLA's own functions; only four are declared. A table that ends before a function does not have it. */
typedef struct {
  XF_HEAD;
  xf_version api_version;
  const void *internal_api;
  xf_error *(*error_create)(xf_error_args *args);
  void *undeclared[10];
  xf_error *(*schedule)(xf_schedule_args *args);
  xf_error *(*threads_count)(xf_threads_args *args);
  void *undeclared_too[3];
  xf_error *(*run_id_get)(xf_run_args *args);
} xf_api;

enum { XF_EXECUTE = 3 };

/* One call of a handler. What follows (a future) is not touched. */
typedef struct {
  XF_HEAD;
  const xf_api *api;
  void *ctx;
  int stage;
  xf_values args;
  xf_values results;
  xf_attributes attributes;
} xf_frame;

typedef xf_error *xf_handler(xf_frame *frame);

/* Where the frame has this extension, the handler is asked for the ABI's version and called for nothing else. */
enum { XF_EXTENSION_METADATA = 1 };

typedef struct {
  size_t struct_size;
  xf_version api_version;
  uint32_t traits;
} xf_metadata;

typedef struct {
  xf_extension base;
  xf_metadata *metadata;
} xf_metadata_extension;

#define XF_MAJOR 0
#define XF_MINOR 3

/* xf_asked answers a question for the version. 1: there was one, the handler returns NULL. */
static inline int xf_asked(xf_frame *frame) {
  for (xf_extension *e = frame->extension_start; e != NULL; e = e->next) {
    if (e->type != XF_EXTENSION_METADATA) continue;
    xf_metadata *m = ((xf_metadata_extension *)e)->metadata;
    m->api_version.major_version = XF_MAJOR;
    m->api_version.minor_version = XF_MINOR;
    m->traits = 0;
    return 1;
  }
  return 0;
}

/* xf_on_fail, where the program has it, hears of each call that fails, before its run ends. */
#if defined(__linux__)
extern void xf_on_fail(xf_frame *frame, const char *message) __attribute__((weak));
#endif

/* xf_fail makes the error that a handler returns. */
static inline xf_error *xf_fail(xf_frame *frame, int code, const char *message) {
#if defined(__linux__)
  if (xf_on_fail) xf_on_fail(frame, message);
#endif
  xf_error_args args = {0};
  args.struct_size = offsetof(xf_error_args, code) + sizeof args.code;
  args.message = message;
  args.code = code;
  return frame->api->error_create(&args);
}

/* A plugin's FFI extension, found in the chain of its table under this type. */
enum { XP_EXTENSION_FFI = 5 };

typedef struct {
  size_t struct_size;
  const char *name;
  size_t name_size;
  void *handler;
  const char *platform;
  size_t platform_size;
  int traits;
} xp_ffi_register_args;

typedef struct {
  xf_extension base;
  void *type_id_register;
  void *user_data_add;
  void *(*register_handler)(xp_ffi_register_args *args); /* an xp_error, or NULL */
} xp_ffi_extension;

#endif
