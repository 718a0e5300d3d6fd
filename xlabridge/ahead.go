package xlabridge

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/xlabridge/cache"
)

// ahead is what is known of a program that was compiled without its device.
type ahead struct {
	Outputs int                `json:"outputs"`
	Memory  ProgramMemory      `json:"memory"`
	Cost    map[string]float64 `json:"cost,omitempty"` // nil if the plugin gives none
}

// Field numbers of CompileOptionsProto, ExecutableBuildOptionsProto and DeviceAssignmentProto.
const (
	fieldPortable         = 4
	fieldDeviceOrdinal    = 1
	fieldReplicas         = 4
	fieldPartitions       = 5
	fieldSPMD             = 6
	fieldDeviceAssignment = 9
	fieldReplicaCount     = 1
	fieldComputationCount = 2
	fieldComputation      = 3
	fieldReplicaDevices   = 1
)

// compileOptions returns the CompileOptionsProto that go-xla gives to a client: the program of one device is portable,
// and that of several is replicated over the first devices.
func compileOptions(replicas int) []byte {
	number := func(message []byte, field protowire.Number, n int64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(message, field, protowire.VarintType), uint64(n))
	}
	message := func(in []byte, field protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(in, field, protowire.BytesType), inner)
	}
	build := number(nil, fieldDeviceOrdinal, -1)
	build = number(build, fieldReplicas, int64(replicas))
	build = number(build, fieldPartitions, 1)
	if replicas == 1 {
		return number(message(nil, fieldBuildOptions, build), fieldPortable, 1)
	}
	build = number(build, fieldSPMD, 1)
	var ids []byte
	for i := range replicas {
		ids = protowire.AppendVarint(ids, uint64(i))
	}
	assignment := number(nil, fieldReplicaCount, int64(replicas))
	assignment = number(assignment, fieldComputationCount, 1)
	assignment = message(assignment, fieldComputation, message(nil, fieldReplicaDevices, ids))
	return message(nil, fieldBuildOptions, message(build, fieldDeviceAssignment, assignment))
}

// compileAhead compiles a program for the topology, or finds it in the cache.
func (c *Client) compileAhead(r *request, code []byte, replicas int) (*Executable, error) {
	start := time.Now()
	r.info.Cache, r.info.Reason = CacheOff, r.noStore
	options := compileOptions(replicas)
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
			r.info.Cache, r.info.Reason, r.info.Stored, r.info.Bytes = CacheHit, "", true, len(payload)
			r.info.Seconds = time.Since(start).Seconds()
			return c.newAhead(e, r, nil)
		}
		r.info.Cache, r.info.Reason = CacheMiss, err.Error()
		if r.store != nil {
			r.info.Reason += r.similarEntry(c.lib, c.platformKey(), err)
			r.unusable(key, err)
		}
	}
	raw, err := c.topology.compile(code, append(options, r.serialized()...))
	if err != nil {
		if full := c.outOfMemory(r.name, err, nil); full != nil {
			return nil, full
		}
		return nil, fmt.Errorf("xlabridge: compile %s for %s: %w", r.name, c.topology.Name, err)
	}
	compiling := time.Since(start)
	if e.ahead, err = c.lib.aheadOf(raw); err == nil && r.store != nil {
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
		C.xb_executable_destroy(c.lib.slot, raw)
		return nil, fmt.Errorf("xlabridge: compile %s for %s: %w", r.name, c.topology.Name, err)
	}
	r.info.Seconds = time.Since(start).Seconds()
	return c.newAhead(e, r, raw)
}

// platformKey is library.platform of the topology's devices.
func (c *Client) platformKey() string {
	return cache.AcceleratorPlatform(c.Platform(), c.topology.kinds[0])
}

// newAhead completes a topology's executable. raw is nil for one that is in the cache.
func (c *Client) newAhead(e *Executable, r *request, raw *C.xp_executable) (*Executable, error) {
	e.info, e.outputs, e.raw = r.info, e.ahead.Outputs, raw
	lib := c.lib
	e.h = &handle{client: c, free: func() error {
		if raw != nil {
			C.xb_executable_destroy(lib.slot, raw)
		}
		return nil
	}}
	if err := c.remember(e.h); err != nil {
		_ = e.h.free()
		return nil, err
	}
	runtime.AddCleanup(e, func(h *handle) { _ = h.close() }, e.h)
	return e, nil
}

// compile compiles a StableHLO module for the devices.
func (t *topology) compile(code, options []byte) (*C.xp_executable, error) {
	ccode, coptions, format := C.CBytes(code), C.CBytes(options), C.CString("mlir")
	defer C.free(ccode)
	defer C.free(coptions)
	defer C.free(unsafe.Pointer(format))
	program := (*C.xp_program)(C.calloc(1, C.size_t(unsafe.Sizeof(C.xp_program{}))))
	defer C.free(unsafe.Pointer(program))
	program.struct_size = C.size_t(unsafe.Sizeof(C.xp_program{}))
	program.code, program.code_size = (*C.char)(ccode), C.size_t(len(code))
	program.format, program.format_size = format, 4
	var raw *C.xp_executable
	err := t.lib.takeError(C.xb_topology_compile(t.lib.slot, t.raw, program, (*C.char)(coptions),
		C.size_t(len(options)), &raw))
	return raw, err
}

// aheadOf asks the plugin about a compiled program.
func (l *library) aheadOf(raw *C.xp_executable) (*ahead, error) {
	var count C.size_t
	if err := l.takeError(C.xb_num_outputs(l.slot, raw, &count)); err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, errors.New("the program returns nothing; return at least one array")
	}
	memory, err := l.memoryOf(raw)
	if err != nil {
		return nil, err
	}
	cost, _ := l.costOf(raw) // not all plugins count
	return &ahead{Outputs: int(count), Memory: memory, Cost: cost}, nil
}

// keepAhead stores a compiled program that returns so many arrays, after it was read back.
func (c *Client) keepAhead(r *request, key cache.Key, meta cache.Metadata, raw *C.xp_executable, outputs int) error {
	l := c.lib
	var args C.xp_serialize_args
	if err := l.takeError(C.xb_serialize_executable(l.slot, raw, &args)); err != nil {
		return fmt.Errorf("the plugin cannot serialize it: %w", err)
	}
	defer C.xb_serialized_free(&args)
	payload := unsafe.Slice((*byte)(unsafe.Pointer(args.bytes)), int(args.bytes_size))
	if err := c.readBack(payload, outputs); err != nil {
		return err
	}
	r.info.Bytes = len(payload)
	return r.store.Put(key, meta, payload)
}

// absent returns a buffer of a topology's device: a shape without elements.
func (c *Client) absent(dtype dtypes.DType, dims []int, device int) (*Buffer, error) {
	h := &handle{client: c, free: func() error { return nil }}
	if err := c.remember(h); err != nil {
		return nil, err
	}
	b := &Buffer{h: h, device: device}
	b.shape.Do(func() { b.dtype, b.dims = dtype, dims })
	runtime.AddCleanup(b, func(h *handle) { h.lose() }, h)
	return b, nil
}

// absentValue is ToHost for a buffer without elements.
func (b *Buffer) absentValue(dst []byte) error {
	t := b.h.client.topology
	if t.zeros {
		clear(dst)
		return nil
	}
	return fmt.Errorf("xlabridge: the array was put on %s, which is not on this machine, so it has no elements", t.Name)
}

// notRun is the error of a program that cannot run.
func (t *topology) notRun(program string) error {
	return fmt.Errorf("xlabridge: program %s was compiled for %s, which is not on this machine, so it did not run: "+
		"open the backend on a machine with the device, without a topology", program, t.Name)
}
