package callback

/*
#include "callback.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"xlarun/graph"
)

// xlarun_host is called by xb_host in running programs, on threads of the plugin.
//
//export xlarun_host
func xlarun_host(frame *C.xf_frame) *C.xf_error {
	if C.xf_asked(frame) != 0 || frame.stage != C.XF_EXECUTE {
		return nil
	}
	args := unsafe.Slice((**C.xf_buffer)(unsafe.Pointer(frame.args.values)), int(frame.args.size))
	results := unsafe.Slice((**C.xf_buffer)(unsafe.Pointer(frame.results.values)), int(frame.results.size))
	return answer(frame, hostCall(args, results))
}

// hostCall runs a host_call op: it fills the results.
func hostCall(args, results []*C.xf_buffer) error {
	var message []byte
	var in []*graph.Array
	var outs []graph.Shape
	for i, b := range args {
		s, err := shapeOfBuffer(b)
		if err != nil {
			return err
		}
		content := bytesOfBuffer(b, s)
		if i == 0 {
			message = content
			continue
		}
		in = append(in, graph.FromBytes(s, content))
	}
	for _, b := range results {
		s, err := shapeOfBuffer(b)
		if err != nil {
			return err
		}
		outs = append(outs, s)
	}
	all, err := runHost(message, in, outs)
	if err != nil {
		return err
	}
	for i, b := range results {
		if n := outs[i].Bytes(); n > 0 {
			copy(unsafe.Slice((*byte)(b.data), n), all[i])
		}
	}
	return nil
}

// runHost is graph.RunHostCall that keeps a panic or an error for the caller of the program.
func runHost(message []byte, in []*graph.Array, outs []graph.Shape) (all [][]byte, err error) {
	const ended = "a function of the host ended its goroutine (runtime.Goexit): return from it, or panic"
	err = InGoroutine(ended, func() error {
		if all, err = graph.RunHostCall(message, in, outs); err == nil {
			return nil
		}
		var is *graph.Error
		if !errors.As(err, &is) {
			is = &graph.Error{Op: "HostCall", Msg: err.Error()}
		}
		return keepPanic(&Panic{is, nil})
	})
	return all, err
}
