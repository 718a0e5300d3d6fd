package run

import (
	"context"

	"xlarun/xlabridge"
)

// LaneChoice runs many experiments as lanes of one program: hundreds of small runs are compiled once.
type LaneChoice struct {
	// Numbers returns the settings that may differ between lanes; settings of parts have dots. They are inputs of the
	// program.
	Numbers func() []string
	// Cost estimates one run. An error names the setting that keeps the run from being a lane.
	Cost func() (VectorizedCost, error)
	// Open compiles a program of up to `most` runs at a time, each with its own values of the named settings.
	Open func(ctx context.Context, b xlabridge.Backend, names []string, most int) (Lanes, error)
}

// Lanes is a program whose lanes are runs.
type Lanes interface {
	// Run runs all lanes to their ends. If there are more than fit at a time, they take turns. A run's result does not
	// depend on how many run beside it. onMetrics is called after each step of each lane; it returns true to end that
	// lane.
	Run(ctx context.Context, all []Lane, onMetrics func(lane int, m Metrics) (stop bool)) error
	Close() error
}

// VectorizedCost is an estimate of one run.
type VectorizedCost struct {
	Work  float64 // multiplications by parameters in the whole run
	Bytes int64   // of memory
}

// Lane has the seed and the numbers of one run. All lanes have numbers with the same names.
type Lane struct {
	Seed    int64
	Numbers map[string]float64
}
