// Package plan lays a run out on the devices: the plan, the rule for a default one, the tuner that measures others, the
// store of its choices, and estimates of memory.
package plan

import (
	"fmt"
	"maps"

	"xlarun/graph"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Plan says how a population's episodes are laid out on the devices. Results do not depend on Devices. They depend on
// the rest in the last digits, because another layout adds numbers up in another order.
type Plan struct {
	Devices int `json:"-"`    // that run tiles at the same time
	Tile    int `json:"tile"` // members that run their episodes together on one device, as a batch
	// BatchLast keeps the members on the last axis of an episode's arrays and unrolls small products, for narrow
	// networks. Otherwise members are on the first axis, and products are batched.
	BatchLast bool `json:"batch_last"`
	Unroll    int  `json:"unroll"` // steps of an episode in one iteration of the loop; 0 and 1: one
	// EpisodeBatch is the number of a member's episodes that run side by side, a divisor of their number; 0: all.
	// Batches run one after the other.
	EpisodeBatch int `json:"episode_batch"`
	// VectorWidth is the width in bits that the compiler prefers on CPU, up to VectorBits; 0: its own choice, half the
	// width of AVX-512.
	VectorWidth int `json:"vector_width"`
}

// String returns "2 devices, tiles of 48, batch first, unroll 1, 256-bit vectors".
func (p Plan) String() string {
	if p.Devices == 1 {
		return "1 device, " + p.Layout()
	}
	return fmt.Sprintf("%d devices, %s", p.Devices, p.Layout())
}

// Layout describes the plan without its devices: "tiles of 48, batch first, unroll 1, 256-bit vectors".
func (p Plan) Layout() string {
	batch := "first"
	if p.BatchLast {
		batch = "last"
	}
	text := fmt.Sprintf("tiles of %d, batch %s, unroll %d", p.Tile, batch, max(1, p.Unroll))
	if p.EpisodeBatch > 1 {
		text += fmt.Sprintf(", %d episodes side by side", p.EpisodeBatch)
	}
	if p.VectorWidth > 0 {
		text += fmt.Sprintf(", %d-bit vectors", min(p.VectorWidth, VectorBits()))
	}
	return text
}

// Settings returns the layout as settings of an experiment, by name: those that the experiment has. It is a pointer to
// a struct of settings.
func (p Plan) Settings(experiment any) settings.Values {
	all := settings.Values{"tile": p.Tile, "batch-last": p.BatchLast, "unroll": p.Unroll,
		"episode-batch": p.EpisodeBatch, "vector-width": p.VectorWidth}
	maps.DeleteFunc(all, func(name string, _ any) bool {
		_, has := settings.Lookup(experiment, name)
		return !has
	})
	return all
}

// VMap returns the options of the vmap over the members.
func (p Plan) VMap() []graph.VMapOption {
	if p.BatchLast {
		return []graph.VMapOption{graph.BatchLast()}
	}
	return nil
}

// Scan returns the options of the scan over an episode's steps.
func (p Plan) Scan() []graph.ScanOption {
	if p.Unroll > 1 {
		return []graph.ScanOption{graph.Unroll(p.Unroll)}
	}
	return nil
}

// Compile returns the compile options of the plan's programs.
func (p Plan) Compile() xlabridge.CompileOptions {
	if p.VectorWidth == 0 {
		return xlabridge.CompileOptions{}
	}
	return xlabridge.CompileOptions{XLA: map[string]any{"xla_cpu_prefer_vector_width": p.VectorWidth}}
}
