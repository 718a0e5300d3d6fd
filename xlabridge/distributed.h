// The callbacks by which the plugin's clients of several processes find each other.
#ifndef XLARUN_DISTRIBUTED_H
#define XLARUN_DISTRIBUTED_H

#include <stdint.h>

#include "../third_party/pjrt/pjrt_abi.h"

// xb_use_store sets the store, a cgo.Handle, of the clients that this thread makes. 0: none.
void xb_use_store(uintptr_t store);

// xb_add_store adds the store's callbacks to the arguments of a Client_Create.
void xb_add_store(xp_client_create_args *args);

// xb_store_error makes an error of a callback.
xp_error *xb_store_error(xp_callback_error *make, int code, const char *message, size_t size);

// xb_set_value gives a callback's value, which malloc made, to the plugin.
void xb_set_value(xp_kv_get_args *args, char *value, size_t size);
void xb_set_optional_value(xp_kv_try_get_args *args, char *value, size_t size);

#endif
