#include "ffi.h"

#include <string.h>

#include "gomode.h"

xp_ffi_extension *xb_ffi(const xp_api *api) {
  for (xf_extension *e = api->extension_start; e != NULL; e = e->next) {
    if (e->type != XP_EXTENSION_FFI) continue;
    xp_ffi_extension *ffi = (xp_ffi_extension *)e;
    size_t want = offsetof(xp_ffi_extension, register_handler) + sizeof ffi->register_handler;
    return e->struct_size >= want && ffi->register_handler != NULL ? ffi : NULL;
  }
  return NULL;
}

xp_error *xb_ffi_register(xp_ffi_extension *ffi, const char *name, void *handler, const char *platform) {
  xp_ffi_register_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = offsetof(xp_ffi_register_args, traits) + sizeof args.traits;
  args.name = name;
  args.name_size = strlen(name);
  args.handler = handler;
  args.platform = platform;
  args.platform_size = strlen(platform);
  return ffi->register_handler(&args);
}

GO_CALLBACK(xf_error *, xb_debug, xf_frame, xlarun_debug)
GO_CALLBACK(xf_error *, xb_host, xf_frame, xlarun_host)
