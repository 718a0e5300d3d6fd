// Package plan says how a run is laid out on the devices: the plan itself, the rule that gives one, the tuner that
// measures others, where its choice is kept, and the memory that a run may take.
package plan

import (
	"fmt"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Plan says how a population's episodes are laid out on the devices. Results do not depend on Devices; they depend on
// the rest in their last digits, because another layout adds the same numbers up in another order.
type Plan struct {
	Devices int `json:"-"`    // that run tiles at the same time
	Tile    int `json:"tile"` // members that run their episodes together on one device, its lanes
	// LanesLast keeps the members on the last axis of what an episode computes, and writes small products out: for
	// narrow networks. Else they stand in front, and products are batched.
	LanesLast bool `json:"lanes_last"`
	Unroll    int  `json:"unroll"` // steps of an episode in one turn of the loop; 0 and 1: one
	// VectorWidth is the width in bits that the compiler prefers on CPU; 0: its own choice, half of what AVX-512 has.
	VectorWidth int `json:"vector_width"`
}

// String is "2 devices, tiles of 48, lanes first, unroll 1, 512-bit vectors".
func (p Plan) String() string {
	if p.Devices == 1 {
		return "1 device, " + p.Layout()
	}
	return fmt.Sprintf("%d devices, %s", p.Devices, p.Layout())
}

// Layout is the plan in words without its devices: "tiles of 48, lanes first, unroll 1, 512-bit vectors".
func (p Plan) Layout() string {
	lanes := "first"
	if p.LanesLast {
		lanes = "last"
	}
	text := fmt.Sprintf("tiles of %d, lanes %s, unroll %d", p.Tile, lanes, max(1, p.Unroll))
	if p.VectorWidth > 0 {
		text += fmt.Sprintf(", %d-bit vectors", p.VectorWidth)
	}
	return text
}

// VMap are the options of the vmap over the members.
func (p Plan) VMap() []graph.VMapOption {
	if p.LanesLast {
		return []graph.VMapOption{graph.LanesLast()}
	}
	return nil
}

// Scan are the options of the scan over an episode's steps.
func (p Plan) Scan() []graph.ScanOption {
	if p.Unroll > 1 {
		return []graph.ScanOption{graph.Unroll(p.Unroll)}
	}
	return nil
}

// Compile are the options of the plan's programs.
func (p Plan) Compile() xlabridge.CompileOptions {
	if p.VectorWidth == 0 {
		return xlabridge.CompileOptions{}
	}
	return xlabridge.CompileOptions{XLA: map[string]any{"xla_cpu_prefer_vector_width": p.VectorWidth}}
}
