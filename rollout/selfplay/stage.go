package selfplay

import (
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// compiler compiles the programs of a run.
type compiler struct {
	backend xlabridge.Backend
	purpose string
	options xlabridge.CompileOptions
	busy    *time.Duration // time that calls took
	profile *run.Profile   // accounts for the programs; may be nil
}

// stage is a compiled program from donated inputs, whose memory it takes, and other inputs to a result. D, I and R are
// trees.
type stage[D, I, R any] struct {
	program *xlabridge.Compiled
	busy    *time.Duration
}

// newStage traces f and compiles it. donated and inputs only give shapes.
func newStage[D, I, R any](c compiler, name string, donated D, inputs I, f func(D, I) R) (*stage[D, I, R], error) {
	p, err := graph.TraceArgs(name, []any{donated, inputs}, graph.TraceOptions{Replicas: c.options.Replicas,
		Donate: []int{0}}, func(args []any) any { return f(args[0].(D), args[1].(I)) })
	if err != nil {
		return nil, err
	}
	options := c.options
	options.Purpose = c.purpose + ": " + name
	program, err := c.backend.Compile(p, options)
	if err != nil {
		return nil, err
	}
	if c.profile != nil {
		c.profile.Account(run.ProgramOf(program))
	}
	return &stage[D, I, R]{program, c.busy}, nil
}

// call runs the program. The result stays on the devices.
func (s *stage[D, I, R]) call(donated D, inputs I) (r R, err error) {
	leaves := append(graph.Leaves(donated), graph.Leaves(inputs)...)
	start := time.Now()
	out, err := s.program.Call(leaves)
	*s.busy += time.Since(start)
	if err != nil {
		return r, err
	}
	return s.program.Program.OutTree().Unflatten(out).(R), nil
}

func (s *stage[D, I, R]) close() {
	if s != nil {
		_ = s.program.Close()
	}
}
