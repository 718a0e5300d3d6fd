/*
 * The part of the PJRT C ABI that xlabridge touches, written down from the published interface
 * (major version 0). Only names, order and sizes of fields are facts of that ABI; see README.md.
 * Every structure starts with its own size, so that either side may be older than the other.
 */
#ifndef XLARUN_PJRT_ABI_H
#define XLARUN_PJRT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opaque objects owned by the plugin. */
typedef struct xp_error xp_error;
typedef struct xp_event xp_event;
typedef struct xp_client xp_client;
typedef struct xp_device xp_device;
typedef struct xp_description xp_description;
typedef struct xp_executable xp_executable;
typedef struct xp_loaded xp_loaded;
typedef struct xp_buffer xp_buffer;
typedef struct xp_topology xp_topology;

/* Every argument structure begins with these two fields. */
#define XP_HEAD        \
  size_t struct_size;  \
  void *extension_start

typedef struct {
  XP_HEAD;
  int major_version;
  int minor_version;
} xp_version;

/* The table: a size, a version, then function pointers in a fixed order. */
typedef struct {
  XP_HEAD;
  xp_version version;
  void *fn[];
} xp_api;

/* Places in xp_api.fn. The order is part of the ABI: new functions are only ever appended. */
enum {
  XP_ERROR_DESTROY = 0,
  XP_ERROR_MESSAGE = 1,
  XP_ERROR_CODE = 2,
  XP_PLUGIN_INITIALIZE = 3,
  XP_PLUGIN_ATTRIBUTES = 4,
  XP_EVENT_DESTROY = 5,
  XP_EVENT_AWAIT = 8,
  XP_CLIENT_CREATE = 10,
  XP_CLIENT_DESTROY = 11,
  XP_CLIENT_PLATFORM_NAME = 12,
  XP_CLIENT_PLATFORM_VERSION = 14,
  XP_CLIENT_DEVICES = 15,
  XP_CLIENT_ADDRESSABLE_DEVICES = 16,
  XP_CLIENT_COMPILE = 20,
  XP_CLIENT_DEFAULT_ASSIGNMENT = 21,
  XP_BUFFER_FROM_HOST = 22,
  XP_DESCRIPTION_KIND = 26,
  XP_DESCRIPTION_DEBUG = 27,
  XP_DEVICE_DESCRIPTION = 29,
  XP_DEVICE_MEMORY_STATS = 34,
  XP_EXECUTABLE_DESTROY = 40,
  XP_EXECUTABLE_NUM_OUTPUTS = 44,
  XP_EXECUTABLE_COST = 46,
  XP_EXECUTABLE_OPTIMIZED = 48,
  XP_EXECUTABLE_SERIALIZE = 49,
  XP_LOADED_DESTROY = 50,
  XP_LOADED_EXECUTABLE = 51,
  XP_LOADED_EXECUTE = 55,
  XP_DESERIALIZE_AND_LOAD = 56,
  XP_BUFFER_DESTROY = 58,
  XP_BUFFER_TYPE = 59,
  XP_BUFFER_DIMS = 60,
  XP_BUFFER_TO_HOST = 70,
  XP_BUFFER_POINTER = 73,
  XP_TOPOLOGY_CREATE = 82,
  XP_TOPOLOGY_DESTROY = 83,
  XP_TOPOLOGY_PLATFORM_NAME = 84,
  XP_TOPOLOGY_PLATFORM_VERSION = 85,
  XP_TOPOLOGY_DESCRIPTIONS = 86,
  XP_COMPILE = 89,
  XP_EXECUTABLE_MEMORY_STATS = 96,
  XP_EXECUTABLE_COMPILE_OPTIONS = 124
};

/* More entries than a header has so far. */
enum { XP_PADDED = 256 };

/* Values of xp_named_value.type. */
enum { XP_STRING = 0, XP_INT64 = 1, XP_INT64_LIST = 2, XP_FLOAT = 3, XP_BOOL = 4 };

typedef struct {
  XP_HEAD;
  const char *name;
  size_t name_size;
  int type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  } value;
  size_t value_size;
} xp_named_value;

/* What many functions get: an object, to destroy it or to wait for it. */
typedef struct {
  XP_HEAD;
  void *of;
} xp_object_args;

/* What functions for a text get. The object owns the text. */
typedef struct {
  XP_HEAD;
  void *of;
  const char *text; /* out */
  size_t text_size; /* out */
} xp_text_args;

/* What functions for devices or their descriptions get. The object owns them. */
typedef struct {
  XP_HEAD;
  void *of;
  void *const *list; /* out */
  size_t size;       /* out */
} xp_list_args;

typedef struct {
  XP_HEAD;
  const xp_error *error;
  int code; /* out */
} xp_error_code_args;

typedef struct {
  XP_HEAD;
} xp_plugin_initialize_args;

typedef struct {
  XP_HEAD;
  const xp_named_value *attributes; /* out; they live as long as the process */
  size_t num_attributes;            /* out */
} xp_plugin_attributes_args;

typedef struct {
  XP_HEAD;
  const xp_named_value *create_options;
  size_t num_options;
  void *kv_get_callback;
  uintptr_t kv_get_user_arg;
  void *kv_put_callback;
  uintptr_t kv_put_user_arg;
  xp_client *client; /* out */
  void *kv_try_get_callback;
  uintptr_t kv_try_get_user_arg;
} xp_client_create_args;

/* How a callback makes an error. */
typedef xp_error *(*xp_callback_error)(int code, const char *message, size_t message_size);

/* The callbacks of kv_get, kv_try_get and kv_put get one of these. */
typedef struct {
  XP_HEAD;
  const char *key;
  size_t key_size;
  int timeout_in_ms;
  xp_callback_error *callback_error;
  uintptr_t user_arg;
  char *value;                                 /* out */
  size_t value_size;                           /* out */
  void (*value_deleter_callback)(char *value); /* out */
} xp_kv_get_args;

typedef struct {
  XP_HEAD;
  const char *key;
  size_t key_size;
  xp_callback_error *callback_error;
  uintptr_t user_arg;
  char *value;                                 /* out */
  size_t value_size;                           /* out */
  void (*value_deleter_callback)(char *value); /* out */
} xp_kv_try_get_args;

typedef struct {
  XP_HEAD;
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  xp_callback_error *callback_error;
  uintptr_t user_arg;
} xp_kv_put_args;

typedef struct {
  XP_HEAD;
  xp_client *client;
  int num_replicas;
  int num_partitions;
  size_t size;
  int *assignment; /* of so many numbers, which the plugin sets */
} xp_client_assignment_args;

typedef struct {
  XP_HEAD;
  xp_device *device;
  xp_description *description; /* out */
} xp_device_description_args;

/* Figures in bytes unless named otherwise; all out. */
typedef struct {
  XP_HEAD;
  xp_device *device;
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_is_set;
  int64_t num_allocs;
  bool num_allocs_is_set;
  int64_t largest_alloc_size;
  bool largest_alloc_size_is_set;
  int64_t bytes_limit;
  bool bytes_limit_is_set;
  int64_t bytes_reserved;
  bool bytes_reserved_is_set;
  int64_t peak_bytes_reserved;
  bool peak_bytes_reserved_is_set;
  int64_t bytes_reservable_limit;
  bool bytes_reservable_limit_is_set;
  int64_t largest_free_block_bytes;
  bool largest_free_block_bytes_is_set;
  int64_t pool_bytes;
  bool pool_bytes_is_set;
  int64_t peak_pool_bytes;
  bool peak_pool_bytes_is_set;
} xp_device_memory_args;

typedef struct {
  XP_HEAD;
  char *code;
  size_t code_size;
  const char *format;
  size_t format_size;
} xp_program;

typedef struct {
  XP_HEAD;
  xp_client *client;
  const xp_program *program;
  const char *compile_options;
  size_t compile_options_size;
  xp_loaded *executable; /* out */
} xp_compile_args;

typedef struct {
  XP_HEAD;
  xp_loaded *loaded;
  xp_executable *executable; /* out; the caller destroys it */
} xp_loaded_executable_args;

/* The same shape serves for a serialized program and for its compile options. */
typedef struct {
  XP_HEAD;
  xp_executable *executable;
  const char *bytes;           /* out */
  size_t bytes_size;           /* out */
  void *object;                /* out; owns bytes */
  void (*deleter)(void *object); /* out */
} xp_serialize_args;

typedef struct {
  XP_HEAD;
  xp_client *client;
  const char *bytes;
  size_t bytes_size;
  xp_loaded *loaded; /* out */
  const char *options;
  size_t options_size;
} xp_deserialize_args;

typedef struct {
  XP_HEAD;
  xp_executable *executable;
  size_t num_properties;            /* out */
  const xp_named_value *properties; /* out; lives as long as the executable */
} xp_cost_args;

typedef struct {
  XP_HEAD;
  xp_executable *executable;
  xp_program *program; /* first call without code asks for the size, the second fills it */
} xp_optimized_args;

typedef struct {
  XP_HEAD;
  xp_executable *executable;
  size_t num_outputs; /* out */
} xp_num_outputs_args;

/* How elements lie in memory: minor_to_major lists the axes, the fastest one first. */
typedef struct {
  XP_HEAD;
  struct {
    XP_HEAD;
    const int64_t *minor_to_major;
    size_t minor_to_major_size;
    const int64_t *tile_dims;
    const size_t *tile_dim_sizes;
    size_t num_tiles;
  } tiled;
  int type; /* 0: tiled */
} xp_layout;

/* Values of xp_from_host_args.semantics. */
enum { XP_UNTIL_TRANSFERRED = 1 };

typedef struct {
  XP_HEAD;
  xp_client *client;
  const void *data;
  int type;
  const int64_t *dims;
  size_t num_dims;
  const int64_t *byte_strides;
  size_t num_byte_strides;
  int semantics;
  xp_device *device;
  void *memory;
  xp_layout *layout;
  xp_event *done;    /* out */
  xp_buffer *buffer; /* out */
} xp_from_host_args;

typedef struct {
  XP_HEAD;
  xp_buffer *buffer;
  int type; /* out */
} xp_buffer_type_args;

typedef struct {
  XP_HEAD;
  xp_buffer *buffer;
  const int64_t *dims; /* out; they live as long as the buffer */
  size_t num_dims;     /* out */
} xp_buffer_dims_args;

typedef struct {
  XP_HEAD;
  xp_buffer *buffer;
  uintptr_t pointer; /* out */
} xp_buffer_pointer_args;

typedef struct {
  XP_HEAD;
  xp_buffer *buffer;
  xp_layout *layout;
  void *dst;
  size_t size;
  xp_event *event; /* out */
} xp_to_host_args;

typedef struct {
  XP_HEAD;
  void *send_callbacks;
  void *recv_callbacks;
  size_t num_send;
  size_t num_recv;
  int launch_id;
  const int64_t *kept; /* the arguments that are not donated */
  size_t num_kept;
  void *context;
  const char *call_location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
  void *multi_slice_config;
} xp_execute_options;

typedef struct {
  XP_HEAD;
  xp_loaded *loaded;
  xp_execute_options *options;
  xp_buffer *const *const *arguments; /* one list a device, of num_args */
  size_t num_devices;
  size_t num_args;
  xp_buffer **const *outputs; /* one list a device, which the plugin fills */
  xp_event **complete;        /* one a device, which the plugin sets */
  xp_device *device;          /* NULL: those that the program was compiled for */
} xp_execute_args;

/* A topology describes devices that need not be there. */
typedef struct {
  XP_HEAD;
  const char *name;
  size_t name_size;
  const xp_named_value *create_options;
  size_t num_options;
  xp_topology *topology; /* out */
} xp_topology_create_args;

typedef struct {
  XP_HEAD;
  const xp_topology *topology;
  const xp_program *program;
  const char *compile_options;
  size_t compile_options_size;
  xp_client *client;         /* may be NULL */
  xp_executable *executable; /* out; the caller destroys it */
} xp_topology_compile_args;

/* Figures in bytes; all out. */
typedef struct {
  XP_HEAD;
  xp_executable *executable;
  int64_t generated_code;
  int64_t arguments;
  int64_t outputs;
  int64_t aliases;
  int64_t temporaries;
  int64_t host_generated_code;
  int64_t host_arguments;
  int64_t host_outputs;
  int64_t host_aliases;
  int64_t host_temporaries;
  int64_t peak;
  int64_t total;
  int64_t total_allocation;
  int64_t indefinite_allocations;
  int64_t peak_unpadded_heap;
} xp_executable_memory_args;

/*
 * The link of a TPU plugin's extension chain that reads serialized executables without a device. Its argument
 * structures have no extension chain. Later functions of the link are not used.
 */
enum { XP_EXTENSION_TPU_EXECUTABLE = 17 };

typedef struct {
  size_t struct_size;
  const char *serialized;
  size_t serialized_size;
  const char *text;  /* out */
  size_t text_size;  /* out */
  void *object;      /* out: owns the text */
  void (*deleter)(void *object); /* out */
} xp_tpu_read_args;

typedef struct {
  size_t struct_size;
  int type;
  void *next;
  xp_error *(*target_arguments)(xp_tpu_read_args *args);
  xp_error *(*hlo_module)(xp_tpu_read_args *args);
} xp_tpu_executable_extension;

#endif
