package callback

/*
#include <stdlib.h>
#include "callback.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"unsafe"

	"xlarun/graph"
)

// ffiDTypes maps the FFI's numbers to element types.
var ffiDTypes = map[C.int]graph.DType{
	1: graph.Bool, 2: graph.Int8, 3: graph.Int16, 4: graph.Int32, 5: graph.Int64, 6: graph.Uint8, 7: graph.Uint16,
	8: graph.Uint32, 9: graph.Uint64,
	10: graph.Float16, 11: graph.Float32, 12: graph.Float64, 15: graph.Complex64, 16: graph.BFloat16,
}

// xlarun_debug is called by xb_debug in running programs, on threads of the plugin.
//
//export xlarun_debug
func xlarun_debug(frame *C.xf_frame) *C.xf_error {
	if C.xf_asked(frame) != 0 || frame.stage != C.XF_EXECUTE {
		return nil
	}
	args, err := debugArguments(unsafe.Slice((**C.xf_buffer)(unsafe.Pointer(frame.args.values)), int(frame.args.size)))
	if err == nil {
		err = runDebug(args)
	}
	return answer(frame, err)
}

// answer is what XLA gets of a call: its error, if any.
func answer(frame *C.xf_frame, err error) *C.xf_error {
	if err == nil {
		return nil
	}
	text := C.CString(err.Error())
	defer C.free(unsafe.Pointer(text))
	return C.xf_fail(frame, C.XF_INVALID_ARGUMENT, text)
}

type debugCall struct {
	message []byte
	values  []*graph.Tensor
}

func debugArguments(buffers []*C.xf_buffer) (debugCall, error) {
	var out debugCall
	for i, b := range buffers {
		s, err := shapeOfBuffer(b)
		if err != nil {
			return out, err
		}
		content := bytesOfBuffer(b, s)
		if i == 0 {
			out.message = content
			continue
		}
		t, err := graph.TensorFromBytes(s, content)
		if err != nil {
			return out, err
		}
		out.values = append(out.values, t)
	}
	return out, nil
}

func shapeOfBuffer(b *C.xf_buffer) (graph.Shape, error) {
	d, ok := ffiDTypes[b.dtype]
	if !ok {
		return graph.Shape{}, fmt.Errorf("%s got an array of the unknown type %d", graph.DebugTarget, int(b.dtype))
	}
	s := graph.Shape{DType: d}
	for _, n := range unsafe.Slice(b.dims, int(b.rank)) {
		s.Dims = append(s.Dims, int(n))
	}
	return s, nil
}

// bytesOfBuffer copies a buffer.
func bytesOfBuffer(b *C.xf_buffer, s graph.Shape) []byte {
	if s.Bytes() == 0 {
		return nil
	}
	return bytes.Clone(unsafe.Slice((*byte)(b.data), s.Bytes())) // C.GoBytes takes less than 2 GiB
}

// runDebug is graph.RunDebug that keeps a panic for PanicOf.
func runDebug(c debugCall) error {
	const ended = "a callback ended its goroutine (runtime.Goexit, as FailNow of a test does): return from it, or panic"
	return InGoroutine(ended, func() error { return graph.RunDebug(c.message, c.values) })
}
