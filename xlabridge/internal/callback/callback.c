#include "callback.h"

#include "../pjrt/gomode.h"

GO_CALLBACK(xf_error *, xb_debug, xf_frame, xlarun_debug)
GO_CALLBACK(xf_error *, xb_host, xf_frame, xlarun_host)
