#define _GNU_SOURCE
#include "shim.h"

#include "distributed.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

typedef const xp_api *(*get_api)(void);
typedef xp_error *(*call)(void *args);

static const xp_api *originals[XB_SLOTS];
static __thread xp_client *last_client;

const char *xb_open(const char *path, const xp_api **api, int *stage) {
  *stage = 1;
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return dlerror();
  *stage = 2;
  get_api get = (get_api)dlsym(handle, "GetPjrtApi");
  if (get == NULL) {
    dlclose(handle);
    return "no GetPjrtApi";
  }
  *stage = 3;
  *api = get();
  if (*api == NULL) return "GetPjrtApi returned no table";
  *stage = 0;
  return NULL;
}

const char *xb_preload(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) == NULL ? dlerror() : NULL; }

// has says whether the table of the slot is long enough to hold an entry, and holds one.
static int has(int slot, int fn) {
  const xp_api *api = originals[slot];
  return api->struct_size >= offsetof(xp_api, fn) + (fn + 1) * sizeof(void *) && api->fn[fn] != NULL;
}

static xp_error *invoke(int slot, int fn, void *args) { return ((call)originals[slot]->fn[fn])(args); }

static xp_error *create(int slot, void *args) {
  xb_add_store(args);
  xp_error *error = invoke(slot, XP_CLIENT_CREATE, args);
  last_client = error == NULL ? ((xp_client_create_args *)args)->client : NULL;
  return error;
}

#define TRAMPOLINES(n) \
  static xp_error *create_##n(void *args) { return create(n, args); } \
  static xp_error *compile_##n(void *args) { return xlabridgeCompile(n, (xp_compile_args *)args); }
TRAMPOLINES(0)
TRAMPOLINES(1)
TRAMPOLINES(2)
TRAMPOLINES(3)
TRAMPOLINES(4)
TRAMPOLINES(5)
TRAMPOLINES(6)
TRAMPOLINES(7)

static const call creates[XB_SLOTS] = {create_0, create_1, create_2, create_3, create_4, create_5, create_6, create_7};
static const call compiles[XB_SLOTS] = {compile_0, compile_1, compile_2, compile_3,
                                        compile_4, compile_5, compile_6, compile_7};

xp_api *xb_interpose(int slot, const xp_api *api, size_t least) {
  size_t size = offsetof(xp_api, fn) + least * sizeof(void *);
  if (size < api->struct_size) size = api->struct_size;
  xp_api *copy = calloc(1, size);
  if (copy == NULL) return NULL;
  memcpy(copy, api, api->struct_size);
  copy->fn[XP_CLIENT_CREATE] = (void *)creates[slot];
  copy->fn[XP_CLIENT_COMPILE] = (void *)compiles[slot];
  originals[slot] = api;
  return copy;
}

xp_client *xb_last_client(void) { return last_client; }

xp_error *xb_compile(int slot, xp_compile_args *args, const char *options, size_t options_size) {
  // Only the options change, in place, so that fields that a newer caller may have appended stay.
  const char *old = args->compile_options;
  size_t old_size = args->compile_options_size;
  args->compile_options = options;
  args->compile_options_size = options_size;
  xp_error *error = invoke(slot, XP_CLIENT_COMPILE, args);
  args->compile_options = old;
  args->compile_options_size = old_size;
  return error;
}

#define ARGS(type, name) \
  type name; \
  memset(&name, 0, sizeof name); \
  name.struct_size = sizeof name

xp_error *xb_compile_program(int slot, xp_client *client, const xp_program *program, const char *options,
                             size_t options_size, xp_loaded **out) {
  ARGS(xp_compile_args, args);
  args.client = client;
  args.program = program;
  args.compile_options = options;
  args.compile_options_size = options_size;
  xp_error *error = invoke(slot, XP_CLIENT_COMPILE, &args);
  *out = args.executable;
  return error;
}

xp_error *xb_deserialize(int slot, xp_client *client, const char *bytes, size_t size, xp_loaded **out) {
  ARGS(xp_deserialize_args, args);
  args.client = client;
  args.bytes = bytes;
  args.bytes_size = size;
  xp_error *error = invoke(slot, XP_DESERIALIZE_AND_LOAD, &args);
  *out = args.loaded;
  return error;
}

xp_error *xb_executable(int slot, xp_loaded *loaded, xp_executable **out) {
  ARGS(xp_loaded_executable_args, args);
  args.loaded = loaded;
  xp_error *error = invoke(slot, XP_LOADED_EXECUTABLE, &args);
  *out = args.executable;
  return error;
}

void xb_executable_destroy(int slot, xp_executable *executable) {
  ARGS(xp_executable_destroy_args, args);
  args.executable = executable;
  xp_error *error = invoke(slot, XP_EXECUTABLE_DESTROY, &args);
  if (error != NULL) xb_error_free(slot, error);
}

xp_error *xb_serialize_executable(int slot, xp_executable *executable, xp_serialize_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->executable = executable;
  return invoke(slot, XP_EXECUTABLE_SERIALIZE, out);
}

static const xp_tpu_executable_extension *tpu_executable(int slot) {
  for (const xp_tpu_executable_extension *e = originals[slot]->extension_start; e != NULL; e = e->next) {
    if (e->type == XP_EXTENSION_TPU_EXECUTABLE) {
      return e->struct_size >= sizeof *e && e->hlo_module != NULL ? e : NULL;
    }
  }
  return NULL;
}

bool xb_can_read(int slot) { return tpu_executable(slot) != NULL; }

xp_error *xb_read_module(int slot, const char *bytes, size_t size, xp_tpu_read_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->serialized = bytes;
  out->serialized_size = size;
  return tpu_executable(slot)->hlo_module(out);
}

void xb_read_free(xp_tpu_read_args *args) {
  if (args->deleter != NULL && args->object != NULL) args->deleter(args->object);
}

xp_error *xb_serialize(int slot, xp_loaded *loaded, xp_serialize_args *out) {
  xp_executable *executable = NULL;
  xp_error *error = xb_executable(slot, loaded, &executable);
  if (error != NULL) return error;
  error = xb_serialize_executable(slot, executable, out);
  xb_executable_destroy(slot, executable);
  out->executable = NULL;
  return error;
}

void xb_serialized_free(xp_serialize_args *args) {
  if (args->deleter != NULL && args->serialized != NULL) args->deleter(args->serialized);
}

xp_error *xb_compile_options(int slot, xp_loaded *loaded, xp_compile_options_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  if (!has(slot, XP_EXECUTABLE_COMPILE_OPTIONS)) return NULL;
  xp_executable *executable = NULL;
  xp_error *error = xb_executable(slot, loaded, &executable);
  if (error != NULL) return error;
  out->executable = executable;
  error = invoke(slot, XP_EXECUTABLE_COMPILE_OPTIONS, out);
  xb_executable_destroy(slot, executable);
  out->executable = NULL;
  return error;
}

void xb_compile_options_free(xp_compile_options_args *args) {
  if (args->deleter != NULL && args->serialized != NULL) args->deleter(args->serialized);
}

void xb_loaded_destroy(int slot, xp_loaded *loaded) {
  ARGS(xp_loaded_destroy_args, args);
  args.loaded = loaded;
  xp_error *error = invoke(slot, XP_LOADED_DESTROY, &args);
  if (error != NULL) xb_error_free(slot, error);
}

xp_error *xb_client_text(int slot, int which, xp_client *client, const char **text, size_t *size) {
  ARGS(xp_client_text_args, args);
  args.client = client;
  xp_error *error = invoke(slot, which, &args);
  *text = args.text;
  *size = args.text_size;
  return error;
}

xp_error *xb_client_devices(int slot, xp_client *client, xp_device *const **devices, size_t *count) {
  ARGS(xp_client_devices_args, args);
  args.client = client;
  xp_error *error = invoke(slot, XP_CLIENT_ADDRESSABLE_DEVICES, &args);
  *devices = args.devices;
  *count = args.num_devices;
  return error;
}

xp_error *xb_description_kind(int slot, xp_description *description, const char **text, size_t *size) {
  ARGS(xp_description_text_args, kind);
  kind.description = description;
  xp_error *error = invoke(slot, XP_DESCRIPTION_KIND, &kind);
  *text = kind.text;
  *size = kind.text_size;
  return error;
}

xp_error *xb_device_kind(int slot, xp_device *device, const char **text, size_t *size) {
  ARGS(xp_device_description_args, args);
  args.device = device;
  xp_error *error = invoke(slot, XP_DEVICE_DESCRIPTION, &args);
  return error != NULL ? error : xb_description_kind(slot, args.description, text, size);
}

xp_error *xb_topology(int slot, const char *name, const char *const *options, size_t count, xp_topology **out) {
  xp_named_value values[8];
  if (count > 8) count = 8;
  memset(values, 0, sizeof values);
  for (size_t i = 0; i < count; i++) {
    values[i].struct_size = sizeof values[i];
    values[i].name = options[2 * i];
    values[i].name_size = strlen(options[2 * i]);
    values[i].type = XP_STRING;
    values[i].value.string_value = options[2 * i + 1];
    values[i].value_size = strlen(options[2 * i + 1]);
  }
  ARGS(xp_topology_create_args, args);
  args.name = name;
  args.name_size = strlen(name);
  args.create_options = values;
  args.num_options = count;
  xp_error *error = invoke(slot, XP_TOPOLOGY_CREATE, &args);
  *out = args.topology;
  return error;
}

void xb_topology_destroy(int slot, xp_topology *topology) {
  ARGS(xp_topology_destroy_args, args);
  args.topology = topology;
  xp_error *error = invoke(slot, XP_TOPOLOGY_DESTROY, &args);
  if (error != NULL) xb_error_free(slot, error);
}

xp_error *xb_topology_text(int slot, int which, xp_topology *topology, const char **text, size_t *size) {
  ARGS(xp_topology_text_args, args);
  args.topology = topology;
  xp_error *error = invoke(slot, which, &args);
  *text = args.text;
  *size = args.text_size;
  return error;
}

xp_error *xb_topology_devices(int slot, xp_topology *topology, xp_description *const **devices, size_t *count) {
  ARGS(xp_topology_descriptions_args, args);
  args.topology = topology;
  xp_error *error = invoke(slot, XP_TOPOLOGY_DESCRIPTIONS, &args);
  *devices = args.descriptions;
  *count = args.num_descriptions;
  return error;
}

xp_error *xb_topology_compile(int slot, xp_topology *topology, const xp_program *program, const char *options,
                              size_t options_size, xp_executable **out) {
  ARGS(xp_topology_compile_args, args);
  args.topology = topology;
  args.program = program;
  args.compile_options = options;
  args.compile_options_size = options_size;
  xp_error *error = invoke(slot, XP_COMPILE, &args);
  *out = args.executable;
  return error;
}

xp_error *xb_num_outputs(int slot, xp_executable *executable, size_t *count) {
  ARGS(xp_num_outputs_args, args);
  args.executable = executable;
  xp_error *error = invoke(slot, XP_EXECUTABLE_NUM_OUTPUTS, &args);
  *count = args.num_outputs;
  return error;
}

xp_error *xb_device_memory(int slot, xp_device *device, xp_device_memory_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->device = device;
  return invoke(slot, XP_DEVICE_MEMORY_STATS, out);
}

xp_error *xb_executable_memory(int slot, xp_executable *executable, xp_executable_memory_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->executable = executable;
  return has(slot, XP_EXECUTABLE_MEMORY_STATS) ? invoke(slot, XP_EXECUTABLE_MEMORY_STATS, out) : NULL;
}

xp_error *xb_cost(int slot, xp_executable *executable, xp_cost_args *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  out->executable = executable;
  return invoke(slot, XP_EXECUTABLE_COST, out);
}

xp_error *xb_optimized(int slot, xp_executable *executable, xp_program *program) {
  ARGS(xp_optimized_args, args);
  args.executable = executable;
  args.program = program;
  return invoke(slot, XP_EXECUTABLE_OPTIMIZED, &args);
}

void xb_error_message(int slot, xp_error *error, const char **text, size_t *size, int *code) {
  ARGS(xp_error_message_args, args);
  args.error = error;
  ((void (*)(void *))originals[slot]->fn[XP_ERROR_MESSAGE])(&args);
  *text = args.message;
  *size = args.message_size;
  ARGS(xp_error_code_args, codes);
  codes.error = error;
  xp_error *failed = invoke(slot, XP_ERROR_CODE, &codes);
  if (failed != NULL) xb_error_free(slot, failed);
  *code = codes.code;
}

void xb_error_free(int slot, xp_error *error) {
  ARGS(xp_error_destroy_args, args);
  args.error = error;
  ((void (*)(void *))originals[slot]->fn[XP_ERROR_DESTROY])(&args);
}

float xb_value_float(const xp_named_value *value) { return value->value.float_value; }
int64_t xb_value_int64(const xp_named_value *value) { return value->value.int64_value; }
