// Callbacks of the plugin into Go.
#ifndef XLARUN_GOMODE_H
#define XLARUN_GOMODE_H

#include <fenv.h>

// GO_CALLBACK defines a function that calls one in Go. XLA's threads take subnormal numbers for zero. Go code, and the
// threads that it starts from here, must not.
#define GO_CALLBACK(result, name, argument, go) \
  result name(argument *a) { \
    fenv_t plugin_mode; \
    fegetenv(&plugin_mode); \
    fesetenv(FE_DFL_ENV); \
    result r = go(a); \
    fesetenv(&plugin_mode); \
    return r; \
  }

#endif
