#ifndef XLARUN_TABLE_H
#define XLARUN_TABLE_H

#include "../../third_party/pjrt/pjrt_abi.h"

// gx_table copies a plugin's table for go-xla: its client is the given one and stays open, and its programs are
// compiled by goxlaCompile.
void *gx_table(const void *api, void *client);

// gx_compile calls the plugin.
xp_error *gx_compile(xp_compile_args *args);

#endif
