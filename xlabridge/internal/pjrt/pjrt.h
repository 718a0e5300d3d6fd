// What the binding needs of C: to open a library, and to call a function whose address and arguments Go has.
#ifndef XLARUN_PJRT_H
#define XLARUN_PJRT_H

#include "../../../third_party/pjrt/ffi_abi.h"
#include "../../../third_party/pjrt/pjrt_abi.h"

// pj_open opens a library and finds its table. NULL: *error is what the loader says, for the caller to free, or NULL
// where there is no table; *found says whether it has GetPjrtApi.
const xp_api *pj_open(const char *path, char **error, bool *found);

// pj_preload opens a library for those that are opened after it. It returns NULL, or what the loader says, for the
// caller to free.
char *pj_preload(const char *path);

// pj_call calls a function of the plugin. The result of a function that returns nothing means nothing.
xp_error *pj_call(void *function, void *args);

// pj_wait waits for an event, and destroys it. NULL is none.
xp_error *pj_wait(void *await, void *destroy, xp_event *event);

// pj_use_store adds a store, a cgo.Handle, to the arguments of a new client.
void pj_use_store(xp_client_create_args *args, uintptr_t store);

// pj_store_error makes an error of a store.
xp_error *pj_store_error(xp_callback_error *make, int code, const char *message, size_t size);

// pj_free is the deleter of a store's value.
void pj_free(char *value);

#endif
