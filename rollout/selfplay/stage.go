package selfplay

import (
	"time"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// stage is a compiled program that makes R of arguments; busy counts the seconds that its calls take.
type stage[R any] struct {
	program *xlabridge.Compiled
	busy    *time.Duration
}

// newStage traces f with arguments like the given ones, which only lend their shapes, and compiles it for so many
// devices. donate are the arguments whose memory the program may use.
func newStage[R any](b xlabridge.Backend, name, purpose string, options xlabridge.CompileOptions, busy *time.Duration,
	donate []int, args []any, f func(args []any) R) (*stage[R], error) {
	p, err := graph.TraceArgs(name, args, graph.TraceOptions{Replicas: options.Replicas, Donate: donate},
		func(args []any) any { return f(args) })
	if err != nil {
		return nil, err
	}
	options.Purpose = purpose + ": " + name
	c, err := b.Compile(p, options)
	if err != nil {
		return nil, err
	}
	return &stage[R]{c, busy}, nil
}

// call runs the program; what it gives stays on the devices.
func (s *stage[R]) call(args ...any) (r R, err error) {
	leaves := graph.Leaves(args)
	start := time.Now()
	out, err := s.program.Call(leaves)
	*s.busy += time.Since(start)
	if err != nil {
		return r, err
	}
	return s.program.Program.OutTree().Unflatten(out).(R), nil
}

func (s *stage[R]) profile(p *run.Profile) {
	if s != nil {
		p.Account(run.ProgramOf(s.program))
	}
}

func (s *stage[R]) close() {
	if s != nil {
		_ = s.program.Close()
	}
}

// onHost copies a tree to the host.
func onHost[T any](v T) (T, error) {
	var first error
	out := graph.MapTree(func(a *graph.Array) *graph.Array {
		h, err := xlabridge.ToHost(a)
		if err != nil {
			if first == nil {
				first = err
			}
			return a
		}
		return h
	}, v)
	return out, first
}
