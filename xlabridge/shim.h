// The C side of the bridge: opens a plugin, keeps its original function table, and builds the
// interposed copy whose Client_Create and Client_Compile come through us.
#ifndef XLARUN_SHIM_H
#define XLARUN_SHIM_H

#include "../third_party/pjrt/pjrt_abi.h"

// One slot is one opened plugin. A C function pointer carries no context, so each slot has its own
// trampolines; eight different plugin files in one process are enough.
#define XB_SLOTS 8

// xb_open loads the library and finds its table. It returns NULL or a static or dlerror text;
// *stage says what failed: 1 dlopen, 2 no entry point, 3 null table.
const char *xb_open(const char *path, const xp_api **api, int *stage);

// xb_preload opens one shared library for the libraries opened after it. NULL or dlerror's text.
const char *xb_preload(const char *path);

// xb_interpose copies the table (padded with zeroes to at least `least` function pointers),
// replaces the entries that are ours for this slot and remembers the original. NULL: out of memory.
xp_api *xb_interpose(int slot, const xp_api *api, size_t least);

// The client that the last successful Client_Create on this thread made.
xp_client *xb_last_client(void);

// Calls to the slot's original table.
xp_error *xb_compile(int slot, xp_compile_args *args, const char *options, size_t options_size);
xp_error *xb_compile_program(int slot, xp_client *client, const xp_program *program, const char *options,
                             size_t options_size, xp_loaded **out);
xp_error *xb_deserialize(int slot, xp_client *client, const char *bytes, size_t size, xp_loaded **out);
xp_error *xb_serialize(int slot, xp_loaded *loaded, xp_serialize_args *out);
void xb_serialized_free(xp_serialize_args *args);
// xb_compile_options gives the options that an executable was compiled with; bytes is NULL where the plugin's table has
// no such entry.
xp_error *xb_compile_options(int slot, xp_loaded *loaded, xp_compile_options_args *out);
void xb_compile_options_free(xp_compile_options_args *args);
void xb_loaded_destroy(int slot, xp_loaded *loaded);
xp_error *xb_client_text(int slot, int which, xp_client *client, const char **text, size_t *size);
xp_error *xb_client_devices(int slot, xp_client *client, xp_device *const **devices, size_t *count);
xp_error *xb_device_kind(int slot, xp_device *device, const char **text, size_t *size);
xp_error *xb_device_memory(int slot, xp_device *device, xp_device_memory_args *out);
xp_error *xb_executable(int slot, xp_loaded *loaded, xp_executable **out);
void xb_executable_destroy(int slot, xp_executable *executable);
xp_error *xb_executable_memory(int slot, xp_executable *executable, xp_executable_memory_args *out);
xp_error *xb_cost(int slot, xp_executable *executable, xp_cost_args *out);
xp_error *xb_optimized(int slot, xp_executable *executable, xp_program *program);

// xb_topology makes a topology. Options are pairs of a name and a text.
xp_error *xb_topology(int slot, const char *name, const char *const *options, size_t count, xp_topology **out);
void xb_topology_destroy(int slot, xp_topology *topology);
xp_error *xb_topology_text(int slot, int which, xp_topology *topology, const char **text, size_t *size);
xp_error *xb_topology_devices(int slot, xp_topology *topology, xp_description *const **devices, size_t *count);
xp_error *xb_description_kind(int slot, xp_description *description, const char **text, size_t *size);
xp_error *xb_topology_compile(int slot, xp_topology *topology, const xp_program *program, const char *options,
                              size_t options_size, xp_executable **out);
xp_error *xb_num_outputs(int slot, xp_executable *executable, size_t *count);
xp_error *xb_serialize_executable(int slot, xp_executable *executable, xp_serialize_args *out);

// xb_can_read says whether the plugin reads serialized executables without a device. xb_read_module then gives a
// program's HloModuleProtoWithConfig.
bool xb_can_read(int slot);
xp_error *xb_read_module(int slot, const char *bytes, size_t size, xp_tpu_read_args *out);
void xb_read_free(xp_tpu_read_args *args);

// The message stays valid until xb_error_free.
void xb_error_message(int slot, xp_error *error, const char **text, size_t *size, int *code);
void xb_error_free(int slot, xp_error *error);

// cgo cannot read a union.
float xb_value_float(const xp_named_value *value);
int64_t xb_value_int64(const xp_named_value *value);

#endif
