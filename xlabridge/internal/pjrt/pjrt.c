#define _GNU_SOURCE
#include "pjrt.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "gomode.h"

// why copies the loader's text, which belongs to the thread: Go may call the next function on another one.
static char *why(void *handle) { return handle == NULL ? strdup(dlerror()) : NULL; }

const xp_api *pj_open(const char *path, char **error, bool *found) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  *error = why(handle);
  const xp_api *(*get)(void) = handle == NULL ? NULL : (const xp_api *(*)(void))dlsym(handle, "GetPjrtApi");
  *found = get != NULL;
  if (handle != NULL && get == NULL) dlclose(handle);
  return get == NULL ? NULL : get();
}

char *pj_preload(const char *path) { return why(dlopen(path, RTLD_NOW | RTLD_GLOBAL)); }

xp_error *pj_call(void *function, void *args) { return ((xp_error * (*)(void *)) function)(args); }

xp_error *pj_wait(void *await, void *destroy, xp_event *event) {
  if (event == NULL) return NULL;
  xp_object_args args = {.struct_size = sizeof args, .of = event};
  xp_error *error = pj_call(await, &args);
  pj_call(destroy, &args);
  return error;
}

static GO_CALLBACK(xp_error *, store_get, xp_kv_get_args, pjStoreGet);
static GO_CALLBACK(xp_error *, store_try_get, xp_kv_try_get_args, pjStoreTryGet);
static GO_CALLBACK(xp_error *, store_put, xp_kv_put_args, pjStorePut);

void pj_use_store(xp_client_create_args *args, uintptr_t store) {
  args->kv_get_callback = (void *)store_get;
  args->kv_try_get_callback = (void *)store_try_get;
  args->kv_put_callback = (void *)store_put;
  args->kv_get_user_arg = args->kv_try_get_user_arg = args->kv_put_user_arg = store;
}

xp_error *pj_store_error(xp_callback_error *make, int code, const char *message, size_t size) {
  return (*make)(code, message, size);
}

void pj_free(char *value) { free(value); }
