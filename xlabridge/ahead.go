//go:build cgo

package xlabridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gomlx/compute/dtypes"

	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/internal/pjrt"
)

// ahead is what is known of a program that was compiled without its device.
type ahead struct {
	Outputs int                `json:"outputs"`
	Memory  ProgramMemory      `json:"memory"`
	Cost    map[string]float64 `json:"cost,omitempty"` // nil if the plugin gives none
}

// compileAhead compiles a program for the topology, or finds it in the cache.
func (c *Client) compileAhead(r *request, code []byte, replicas int) (*Executable, error) {
	start := time.Now()
	r.info.Cache, r.info.Reason = cache.Off, r.noStore
	devices := make([]int, replicas)
	for i := range devices {
		devices[i] = i
	}
	options := pjrt.CompileOptions(devices...)
	e := &Executable{name: r.name, client: c, replicas: replicas}
	var key cache.Key
	if r.store != nil {
		key = r.key(c.lib, code, "mlir", options, c.platformKey())
		payload, meta, err := r.store.Get(key)
		if err == nil && meta.Ahead != nil {
			e.ahead = &ahead{}
			if err = json.Unmarshal(meta.Ahead, e.ahead); err == nil {
				err = c.readBack(payload, e.ahead.Outputs)
			}
		} else if err == nil {
			// It is better than what can be compiled here, so it stays. What is known of it is lost, so it is compiled.
			err, r.store = errors.New("the entry was compiled on the device, and stays"), nil
		}
		if err == nil {
			r.info.Cache, r.info.Reason, r.info.Stored, r.info.Bytes = cache.Hit, "", true, len(payload)
			r.info.Seconds = time.Since(start).Seconds()
			return c.newAhead(e, r, nil)
		}
		r.info.Cache, r.info.Reason = cache.Miss, err.Error()
		if r.store != nil {
			r.info.Reason += r.similarEntry(c.lib, c.platformKey(), err)
			r.unusable(key, err)
		}
	}
	raw, err := c.topology.raw.Compile(code, append(options, r.serialized()...))
	if err != nil {
		if full := c.outOfMemory(r.name, err, nil); full != nil {
			return nil, full
		}
		return nil, fmt.Errorf("xlabridge: compile %s for %s: %w", r.name, c.topology.Name, err)
	}
	compiling := time.Since(start)
	if e.ahead, err = aheadOf(raw); err == nil && r.store != nil {
		meta := c.lib.metadata(r, c.platformKey(), compiling)
		meta.Ahead, err = json.Marshal(e.ahead)
		if err == nil {
			err = c.keepAhead(r, key, meta, raw, e.ahead.Outputs)
		}
		r.stored(err)
		c.tell(r.info.Trouble)
		err = nil
	}
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("xlabridge: compile %s for %s: %w", r.name, c.topology.Name, err)
	}
	r.info.Seconds = time.Since(start).Seconds()
	return c.newAhead(e, r, raw)
}

// newAhead completes a topology's executable. raw is nil for one that is in the cache.
func (c *Client) newAhead(e *Executable, r *request, raw *pjrt.Program) (*Executable, error) {
	e.info, e.outputs, e.inner = r.info, e.ahead.Outputs, raw
	return e.owned(func() error {
		if raw == nil {
			return nil
		}
		return raw.Close()
	})
}

// aheadOf asks the plugin about a compiled program.
func aheadOf(raw *pjrt.Program) (*ahead, error) {
	if raw.Outputs == 0 {
		return nil, errors.New("the program returns nothing; return at least one array")
	}
	memory, err := memoryOf(raw)
	if err != nil {
		return nil, err
	}
	cost, _ := raw.Cost() // not all plugins count
	return &ahead{Outputs: raw.Outputs, Memory: memory, Cost: cost}, nil
}

// keepAhead stores a compiled program that returns so many arrays, after it was read back.
func (c *Client) keepAhead(r *request, key cache.Key, meta cache.Metadata, raw *pjrt.Program, outputs int) error {
	payload, err := raw.Serialize()
	if err != nil {
		return fmt.Errorf("the plugin cannot serialize it: %w", err)
	}
	if err := c.readBack(payload, outputs); err != nil {
		return err
	}
	r.info.Bytes = len(payload)
	return r.store.Put(key, meta, payload)
}

// absent returns a buffer of a topology's device: a shape without elements.
func (c *Client) absent(dtype dtypes.DType, dims []int, device int) (*buffer, error) {
	h := &handle{client: c, free: func() error { return nil }}
	if err := c.remember(h); err != nil {
		return nil, err
	}
	b := &buffer{h: h, device: device}
	b.shape.Do(func() { b.dtype, b.dims = dtype, dims })
	runtime.AddCleanup(b, func(h *handle) { h.lose() }, h)
	return b, nil
}

// absentValue is ToHost for a buffer without elements.
func (b *buffer) absentValue(dst []byte) error {
	t := b.h.client.topology
	if t.zeros {
		clear(dst)
		return nil
	}
	return fmt.Errorf("xlabridge: the array was put on %s, which is not on this machine, so it has no elements", t.Name)
}

// notRun is the error of a program that cannot run.
func (t *absentDevices) notRun(program string) error {
	return fmt.Errorf("xlabridge: program %s was compiled for %s, which is not on this machine, so it did not run: "+
		"open the backend on a machine with the device, without a topology", program, t.Name)
}
