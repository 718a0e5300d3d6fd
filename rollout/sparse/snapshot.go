package sparse

import (
	"fmt"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Snapshot is a copy of a population's state on the host. Together with the config, which gives the seed and the
// numbers of steps between mutations, it is all that the rest of a run depends on.
type Snapshot struct {
	Steps int // taken
	// Arrays are the members' connections, by layer: "0.at", i32[population, connections], their places, and "0.w", f32 of
	// the same shape, their weights. What methods keep beside them follows from them.
	Arrays map[string]*graph.Array
}

// Snapshot copies the state to the host.
func (p *Population) Snapshot() (s Snapshot, err error) {
	if p.members == nil {
		return s, errNoMembers
	}
	if p.gather == nil {
		p.gather, err = p.compile("sparse_gather", func(a []any) any {
			return graph.MapTree(p.tiles.Gather, a[0].(Member))
		}, nil, p.abstract())
		if err != nil {
			return s, err
		}
	}
	out, err := p.gather.Call(p.members)
	if err != nil {
		return s, err
	}
	s = Snapshot{p.done, map[string]*graph.Array{}}
	for i, a := range out {
		if s.Arrays[arrayName(i)], err = toHost(a, p.config.Population); err != nil {
			return s, err
		}
	}
	return s, nil
}

// arrayName is the name of leaf i of a Member.
func arrayName(i int) string { return fmt.Sprintf("%d.%s", i/2, []string{"at", "w"}[i%2]) }

// memberOf makes a member of its leaves.
func memberOf(leaves []*graph.Array) (m Member) {
	for i := 0; i < len(leaves); i += 2 {
		m = append(m, Connections{leaves[i], leaves[i+1]})
	}
	return m
}

// Restore goes back, or on, to a snapshot of a run with the same config, on any number of devices. What follows is what
// followed then, to the byte.
func (p *Population) Restore(s Snapshot) error {
	if p.members == nil {
		return errNoMembers
	}
	if s.Steps < 0 || s.Steps > p.config.Steps {
		return fmt.Errorf("sparse: the snapshot was taken after step %d, want 0 to the config's %d", s.Steps, p.config.Steps)
	}
	var all []*graph.Array
	for i, a := range p.members {
		x, ok := s.Arrays[arrayName(i)]
		want := graph.ShapeOf(a.DType(), p.config.Population, a.Dims()[1])
		if !ok || !x.Shape().Equal(want) {
			return fmt.Errorf("sparse: the snapshot has no array %q of %v, as the config wants: restore what the same config made", arrayName(i), want)
		}
		none := graph.Zeros(graph.ShapeOf(a.DType(), p.tiles.Total()+1-p.config.Population, a.Dims()[1]))
		all = append(all, graph.Concatenate(0, x, none))
	}
	members, err := graph.Eval(memberOf(all))
	if err != nil {
		return err
	}
	var spread programs
	x, err := p.compileAs(&spread, "sparse_restore", func(a []any) any {
		return graph.MapTree(p.tiles.Local, a[0].(Member))
	}, nil, members)
	if err != nil {
		return err
	}
	defer func() { _ = x.Close() }()
	out, err := x.Call(graph.Leaves(members))
	if err != nil {
		return err
	}
	xlabridge.Free(p.members)
	p.members, p.done, p.mutations = out, s.Steps, 0
	if every := p.config.MutateEvery; every > 0 {
		p.mutations = s.Steps / every
		if s.Steps == p.config.Steps && s.Steps%every == 0 { // none comes after the last step
			p.mutations--
		}
	}
	p.order = order{seed: p.config.Seed, n: p.data.Train.Len()}
	for range s.Steps * p.config.Batch {
		p.order.next()
	}
	return p.reindex()
}

// toHost copies the first rows of an array to the host, all where rows is 0, and frees it.
func toHost(a *graph.Array, rows int) (*graph.Array, error) {
	data, err := a.Data()
	if err != nil {
		return nil, err
	}
	b, err := data.HostBytes()
	if err != nil {
		return nil, err
	}
	xlabridge.Free(a)
	shape := a.Shape()
	if rows > 0 {
		b = b[:len(b)/shape.Dims[0]*rows]
		shape = graph.ShapeOf(shape.DType, append([]int{rows}, shape.Dims[1:]...)...)
	}
	return graph.FromBytes(shape, b), nil
}
