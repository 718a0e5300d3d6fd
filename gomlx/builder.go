package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
)

// Builder records one program: its main function, and those that it calls.
type Builder struct {
	backend *Backend
	name    string
	main    *Function
}

func newBuilder(b *Backend, name string) *Builder {
	builder := &Builder{backend: b, name: name}
	builder.main = builder.newFunction(compute.MainName, nil)
	return builder
}

func (b *Builder) newFunction(name string, parent *Function) *Function {
	return &Function{Function: notimplemented.Function{ErrFn: refuse}, builder: b, name: name, parent: parent}
}

// refuse is the error for an op that package graph lacks.
func refuse(op compute.OpType) error {
	return fmt.Errorf("xlarun lacks GoMLX's op %s: %w", op, compute.ErrNotImplemented)
}

// Name of the program.
func (b *Builder) Name() string { return b.name }

// Main is the function that is compiled.
func (b *Builder) Main() compute.Function { return b.main }

// NewFunction begins a function that others call.
func (b *Builder) NewFunction(name string) (compute.Function, error) {
	return b.newFunction(name, nil), nil
}

// OpShape is the shape of a value.
func (b *Builder) OpShape(v compute.Value) (shapes.Shape, error) {
	x, ok := v.(*value)
	if !ok {
		return shapes.Invalid(), fmt.Errorf("got a %T, want a value of the backend %s", v, BackendName)
	}
	return shapeToGoMLX(x.shape), nil
}

// DistributedSPMD takes one device.
func (b *Builder) DistributedSPMD(devices int) error {
	if devices == 1 {
		return nil
	}
	return fmt.Errorf("a GoMLX program on xlarun has one device, got %d: %w", devices, compute.ErrNotImplemented)
}

// DistributedAutoSharding refuses.
func (b *Builder) DistributedAutoSharding(...compute.Mesh) error {
	return fmt.Errorf("a GoMLX program on xlarun has one device and no meshes: %w", compute.ErrNotImplemented)
}

// DeviceAssignment takes device 0.
func (b *Builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	if len(devices) == 1 && devices[0] == 0 {
		return nil
	}
	return fmt.Errorf("a GoMLX program on xlarun has the device 0, got %v: %w", devices, compute.ErrNotImplemented)
}

// Compile compiles the main function.
func (b *Builder) Compile() (compute.Executable, error) {
	if !b.main.returned {
		return nil, fmt.Errorf("program %s: the main function has not returned", b.name)
	}
	return newExecutable(b.backend, b.main)
}
