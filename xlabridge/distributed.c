#include "distributed.h"

#include <stdlib.h>

#include "_cgo_export.h"
#include "gomode.h"

static __thread uintptr_t thread_store;

void xb_use_store(uintptr_t store) { thread_store = store; }

static GO_CALLBACK(xp_error *, store_get, xp_kv_get_args,
                   xlarun_store_get) static GO_CALLBACK(xp_error *, store_try_get, xp_kv_try_get_args,
                                                        xlarun_store_try_get) static GO_CALLBACK(xp_error *, store_put,
                                                                                                 xp_kv_put_args,
                                                                                                 xlarun_store_put)

    void xb_add_store(xp_client_create_args *args) {
  if (thread_store == 0) return;
  void *store = (void *)thread_store;
  args->kv_get_callback = (void *)store_get;
  args->kv_try_get_callback = (void *)store_try_get;
  args->kv_put_callback = (void *)store_put;
  args->kv_get_user_arg = args->kv_try_get_user_arg = args->kv_put_user_arg = store;
}

xp_error *xb_store_error(xp_callback_error *make, int code, const char *message, size_t size) {
  return (*make)(code, message, size);
}

static void free_value(char *value) { free(value); }

void xb_set_value(xp_kv_get_args *args, char *value, size_t size) {
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = free_value;
}

void xb_set_optional_value(xp_kv_try_get_args *args, char *value, size_t size) {
  args->value = value;
  args->value_size = size;
  args->value_deleter_callback = free_value;
}
