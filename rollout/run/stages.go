package run

import (
	"context"
	"fmt"
	"time"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Stages compiles the programs of a run that has several over parts of its state. A Loop is a run with one program.
type Stages struct {
	Backend xlabridge.Backend
	Purpose string                   // Job.Purpose
	Options xlabridge.CompileOptions // of each program; Replicas are its devices
	Profile *Profile                 // accounts for the programs; nil: nothing does
	Busy    *time.Duration           // the time of calls is added to it; nil: it is not
}

// Stage is a program that replaces a part P of a run's state, whose memory it takes, and returns results R. It also has
// inputs I. All are trees. P is graph.None if it changes nothing.
type Stage[P, I, R any] struct {
	program *xlabridge.Compiled
	busy    *time.Duration
}

// NewStage traces f and compiles it. part and inputs only give shapes.
func NewStage[P, I, R any](s Stages, name string, part P, inputs I, f func(P, I) (P, R)) (*Stage[P, I, R], error) {
	p, err := graph.TraceArgs(name, []any{part, inputs}, graph.TraceOptions{Replicas: s.Options.Replicas,
		Donate: []int{0}}, func(args []any) any { return graph.PairOf(f(args[0].(P), args[1].(I))) })
	if err != nil {
		return nil, err
	}
	options := s.Options
	options.Purpose = s.Purpose + ": " + name
	program, err := s.Backend.Compile(p, options)
	if err != nil {
		return nil, err
	}
	if s.Profile != nil {
		s.Profile.Account(ProgramOf(program))
	}
	return &Stage[P, I, R]{program, s.Busy}, nil
}

// NewReading is NewStage for a program that changes no part of the state.
func NewReading[I, R any](s Stages, name string, inputs I, f func(I) R) (*Stage[graph.None, I, R], error) {
	return NewStage(s, name, graph.None{}, inputs, func(_ graph.None, in I) (graph.None, R) {
		return graph.None{}, f(in)
	})
}

// Advance replaces the part, and returns the results, on the devices. If the call fails, the part is lost: it is zero.
func (s *Stage[P, I, R]) Advance(part *P, inputs I) (results R, err error) {
	leaves := append(graph.Leaves(*part), graph.Leaves(inputs)...)
	var lost P
	*part = lost // donated
	start := time.Now()
	out, err := s.program.Call(leaves)
	if s.busy != nil {
		*s.busy += time.Since(start)
	}
	if err != nil {
		return results, err
	}
	both := s.program.Program.OutTree().Unflatten(out).(graph.Pair[P, R])
	*part = both.First
	return both.Second, nil
}

// Call is Advance of a program that changes no part of the state.
func (s *Stage[P, I, R]) Call(inputs I) (results R, err error) {
	var none P
	return s.Advance(&none, inputs)
}

// Program returns the compiled program.
func (s *Stage[P, I, R]) Program() *xlabridge.Compiled { return s.program }

// Close frees the program. A nil stage has none.
func (s *Stage[P, I, R]) Close() error {
	if s == nil {
		return nil
	}
	return s.program.Close()
}

// Saved returns the arrays of a tree on the host, by their LeafNames.
func Saved(ctx context.Context, tree any) (map[string]*graph.Array, error) {
	arrays := map[string]*graph.Array{}
	leaves, t := graph.Flatten(tree)
	for i, a := range leaves {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := xlabridge.ToHost(a)
		if err != nil {
			return nil, err
		}
		arrays[LeafName(t.Path(i))] = h
	}
	return arrays, nil
}

// Restored returns a tree with the arrays of a snapshot, on the host. want gives the tree and its shapes. An error says
// which array is missing or has another shape.
func Restored[T any](s Snapshot, want T) (T, error) {
	leaves, tree := graph.Flatten(want)
	for i, a := range leaves {
		saved, err := s.array(LeafName(tree.Path(i)), a.Shape())
		if err != nil {
			return want, err
		}
		leaves[i] = saved
	}
	return tree.Unflatten(leaves).(T), nil
}

// array returns an array of a snapshot.
func (s Snapshot) array(name string, shape graph.Shape) (*graph.Array, error) {
	a, ok := s.Arrays[name]
	if ok {
		a = widened(a, shape.DType)
	}
	if !ok || !a.Shape().Equal(shape) {
		return nil, fmt.Errorf("the state has no array %q of %s, as these settings want: restore what the same "+
			"settings made", name, shape)
	}
	return a, nil
}
