#include "distributed.h"

#include <fenv.h>
#include <stdlib.h>

#include "_cgo_export.h"

static __thread uintptr_t of_thread;

void xb_use_store(uintptr_t store) { of_thread = store; }

// Go code, and the threads that it starts from here, run in Go's floating-point mode, as in ffi.c.
#define IN_GO(type, name)                    \
  static xp_error *name(type *args) {        \
    fenv_t plugins;                          \
    fegetenv(&plugins);                      \
    fesetenv(FE_DFL_ENV);                    \
    xp_error *error = xlarun_##name(args);   \
    fesetenv(&plugins);                      \
    return error;                            \
  }
IN_GO(xp_kv_get_args, store_get)
IN_GO(xp_kv_try_get_args, store_try_get)
IN_GO(xp_kv_put_args, store_put)

void xb_add_store(xp_client_create_args *args) {
  if (of_thread == 0) return;
  void *store = (void *)of_thread;
  args->kv_get_callback = (void *)store_get;
  args->kv_try_get_callback = (void *)store_try_get;
  args->kv_put_callback = (void *)store_put;
  args->kv_get_user_arg = args->kv_try_get_user_arg = args->kv_put_user_arg = store;
}

xp_error *xb_store_error(xp_callback_error *make, int code, const char *message, size_t size) {
  return (*make)(code, message, size);
}

static void drop(char *value) { free(value); }

void xb_set_value(xp_kv_get_args *args, char *value, size_t size) {
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = drop;
}

void xb_set_tried(xp_kv_try_get_args *args, char *value, size_t size) {
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = drop;
}
