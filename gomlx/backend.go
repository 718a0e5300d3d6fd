package gomlx

import (
	"context"
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// BackendName is the name under which GoMLX finds the backend: GOMLX_BACKEND=xlarun, or xlarun:reference.
const BackendName = "xlarun"

func init() {
	compute.Register(BackendName, func(config string) (compute.Backend, error) { return Open(config) })
}

// Backend is a compute.Backend. It has one device.
type Backend struct {
	runs xlabridge.Backend // nil in a backend that only records

	mu       sync.Mutex
	recorded *Function // the last function that was built, in a backend that only records
	closed   bool
}

// Open opens a backend that runs on "cpu", "cuda", "rocm" or "tpu", or on the "reference" interpreter. "" means "cpu".
func Open(device string) (*Backend, error) {
	switch device {
	case "", "cpu", "cuda", "rocm", "tpu":
		client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: device})
		if err != nil {
			return nil, err
		}
		return On(client), nil
	case "reference":
		return On(&xlabridge.Reference{}), nil
	}
	return nil, fmt.Errorf("the backend %s:%s is not known: want one of cpu, cuda, rocm, tpu and reference after the "+
		"colon", BackendName, device)
}

// On returns a backend that runs on an open one. Finalize closes it.
func On(b xlabridge.Backend) *Backend { return &Backend{runs: b} }

// Name is BackendName.
func (b *Backend) Name() string { return BackendName }

// String is BackendName.
func (b *Backend) String() string { return BackendName }

// Description says where programs run.
func (b *Backend) Description() string {
	if b.runs == nil {
		return "xlarun, which records programs"
	}
	return "xlarun on " + b.runs.Backend()
}

// NumDevices is 1.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription describes the device.
func (b *Backend) DeviceDescription(compute.DeviceNum) string { return b.Description() }

// Capabilities lists ops and dtypes.
func (b *Backend) Capabilities() compute.Capabilities { return capabilities() }

// Builder returns a builder of a program.
func (b *Backend) Builder(name string) compute.Builder { return newBuilder(b, name) }

// BufferFromFlatData copies a slice to the device.
func (b *Backend) BufferFromFlatData(_ compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	a, err := arrayOf(flat, shape)
	if err != nil {
		return nil, err
	}
	if b.runs != nil {
		if a, err = xlabridge.Put(b.runs, 1, a); err != nil {
			return nil, err
		}
	}
	return &Buffer{b, a}, nil
}

// HasSharedBuffers is false: programs read copies.
func (b *Backend) HasSharedBuffers() bool { return false }

// NewSharedBuffer refuses.
func (b *Backend) NewSharedBuffer(compute.DeviceNum, shapes.Shape) (compute.Buffer, any, error) {
	return nil, nil, fmt.Errorf("xlarun has no shared buffers: %w", compute.ErrNotImplemented)
}

// Finalize closes what programs run on.
func (b *Backend) Finalize() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && b.runs != nil {
		_ = b.runs.Close() // GoMLX has no place for this error
	}
	b.closed = true
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// zeros is a buffer of zeros, as results of a backend that only records.
func (b *Backend) zeros(s graph.Shape) *Buffer {
	return &Buffer{b, graph.FromBytes(s, make([]byte, s.Bytes()))}
}
