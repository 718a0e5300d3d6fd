package sparse

import (
	"context"
	"fmt"

	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Snapshot copies the state to the host, from the devices that hold the members. For layer 0 it has places "0.at",
// i32[population, connections], and weights "0.w", f32 of the same shape. The rest of a run follows from it and the
// config.
func (p *Population) Snapshot(ctx context.Context) (s run.Snapshot, err error) {
	if p.members == nil {
		return s, run.ErrGone
	}
	s = run.Snapshot{Step: int64(p.done), Arrays: map[string]*graph.Array{}}
	for i, a := range graph.Leaves(p.members) {
		if s.Arrays[arrayName(i)], err = p.tiles.ToHost(a); err != nil {
			return s, err
		}
	}
	return s, nil
}

// arrayName returns the name of leaf i of a Member.
func arrayName(i int) string { return fmt.Sprintf("%d.%s", i/2, []string{"at", "w"}[i%2]) }

// memberOf returns a member, given its leaves.
func memberOf(leaves []*graph.Array) (m Member) {
	for i := 0; i < len(leaves); i += 2 {
		m = append(m, Connections{leaves[i], leaves[i+1]})
	}
	return m
}

// Restore sets the state to a snapshot of a run with the same config, on any number of devices. The run continues to
// the byte as that run did.
func (p *Population) Restore(ctx context.Context, s run.Snapshot) error {
	if p.members == nil {
		return run.ErrGone
	}
	if s.Step < 0 || s.Step > int64(p.config.Updates) {
		return fmt.Errorf("sparse: the snapshot was taken after update %d, want 0 to the config's %d", s.Step,
			p.config.Updates)
	}
	own := graph.Leaves(p.members)
	for i, a := range own {
		if x, ok := s.Arrays[arrayName(i)]; !ok || !x.Shape().Equal(p.tiles.Whole(a)) {
			return fmt.Errorf("sparse: the snapshot has no array %q of %v, as the config wants: restore what the "+
				"same config made", arrayName(i), p.tiles.Whole(a))
		}
	}
	var out []*graph.Array
	for i, a := range own {
		moved, err := p.tiles.FromHost(p.backend, s.Arrays[arrayName(i)], a.Shape())
		if err != nil {
			xlabridge.Free(out)
			return err
		}
		out = append(out, moved)
	}
	xlabridge.Free(p.members)
	p.members, p.done, p.mutations = memberOf(out), int(s.Step), 0
	if every := p.config.MutateEvery; every > 0 {
		p.mutations = max(0, p.done-1) / every // one that is due comes before the next step
	}
	p.order = order{seed: p.config.Seed, n: p.data.Train.Len()}
	for range p.done * p.config.Batch {
		p.order.next()
	}
	return p.reindex()
}
