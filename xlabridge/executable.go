//go:build cgo

package xlabridge

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute/dtypes"

	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
)

// Executable is a compiled program, loaded on one device, or on several with replicas.
type Executable struct {
	name     string
	client   *Client
	h        *handle
	inner    *pjrt.Program // nil for a topology's program that is in the cache
	info     CompileInfo
	replicas int
	outputs  int
	memory   *ProgramMemory          // nil: the plugin has to be asked
	ahead    *ahead                  // of a topology's program; nil for one that is loaded on devices
	sizes    atomic.Pointer[[]int64] // see resultSizes

	needsOnce sync.Once
	needs     int64 // bytes of the results and temporaries of a run, on all devices; see returnForRun
}

// newExecutable completes a loaded program.
func (c *Client) newExecutable(name string, inner *pjrt.Program, r *request) (*Executable, error) {
	if inner.Outputs == 0 {
		_ = inner.Close()
		return nil, fmt.Errorf("xlabridge: compile %s: the program returns nothing; return at least one array", name)
	}
	e := &Executable{name: name, client: c, inner: inner, info: r.info, memory: r.memory, replicas: inner.Replicas,
		outputs: inner.Outputs}
	return e.owned(inner.Close)
}

// owned is e, which its client closes by free, or the garbage collector after nobody refers to it any more.
func (e *Executable) owned(free func() error) (*Executable, error) {
	e.h = &handle{client: e.client, free: free}
	if err := e.client.remember(e.h); err != nil {
		_ = free()
		return nil, err
	}
	runtime.AddCleanup(e, func(h *handle) { _ = h.close() }, e.h)
	return e, nil
}

// Info describes how the program was compiled or loaded.
func (e *Executable) Info() CompileInfo { return e.info }

// resultSizes returns the bytes of each result. All runs have the same sizes, so only the first run is asked for them.
// Without the pool, the size of the first result includes the temporaries: the result takes a part of their space on
// the C library's heap, so the next call needs new space until the result is freed.
func (e *Executable) resultSizes(results []*pjrt.Buffer) ([]int64, error) {
	if sizes := e.sizes.Load(); sizes != nil {
		return *sizes, nil
	}
	sizes := make([]int64, e.outputs)
	for i := range sizes {
		dtype, dims, err := results[i].Shape()
		if err != nil {
			return sizes, err
		}
		sizes[i] = int64(dtypes.DType(dtype).SizeForDimensions(dims...))
	}
	if e.client.Platform() == "cpu" && !e.client.lib.pooled && len(sizes) > 0 {
		if m, err := e.Memory(); err == nil && m.Temporaries < hostmemory.DirectMemory {
			sizes[0] += m.Temporaries
		}
	}
	e.sizes.Store(&sizes)
	return sizes, nil
}

// use marks a use of the program. The caller releases it.
func (e *Executable) use() error {
	if gone := e.h.hold(); gone != "" {
		return fmt.Errorf("xlabridge: program %s %s", e.name, gone)
	}
	return nil
}

// Close frees the program after the calls that use it. A second Close does nothing.
func (e *Executable) Close() error {
	if e == nil {
		return nil
	}
	return e.h.close()
}
