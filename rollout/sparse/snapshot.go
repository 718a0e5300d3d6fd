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

// Snapshot copies the state to the host, straight from the devices that hold the members.
func (p *Population) Snapshot() (s Snapshot, err error) {
	if p.members == nil {
		return s, errNoMembers
	}
	s = Snapshot{p.done, map[string]*graph.Array{}}
	for i, a := range p.members {
		row := a.Shape().Bytes() / (p.tiles.PerDevice + 1)
		// A device's spare row is written over by the next device's first, or is behind the last.
		all := make([]byte, (p.tiles.Total()+1)*row)
		for d := range p.config.Devices {
			first := d * p.tiles.PerDevice * row
			if err := xlabridge.PartToHost(a, d, all[first:first+a.Shape().Bytes()]); err != nil {
				return s, err
			}
		}
		s.Arrays[arrayName(i)] = graph.FromBytes(p.wholeShape(a), all[:p.config.Population*row])
	}
	return s, nil
}

// wholeShape is the shape of a leaf of all members, of which a is what a device has.
func (p *Population) wholeShape(a *graph.Array) graph.Shape {
	return graph.ShapeOf(a.DType(), p.config.Population, a.Dim(1))
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
	hosts := make([][]byte, len(p.members))
	for i, a := range p.members {
		x, ok := s.Arrays[arrayName(i)]
		want := p.wholeShape(a)
		if !ok || !x.Shape().Equal(want) {
			return fmt.Errorf("sparse: the snapshot has no array %q of %v, as the config wants: restore what the same config made", arrayName(i), want)
		}
		data, err := x.Data()
		if err != nil {
			return err
		}
		if hosts[i], err = data.HostBytes(); err != nil {
			return err
		}
	}
	var out []*graph.Array
	for i, a := range p.members {
		mine := hosts[i]
		moved, err := xlabridge.PutParts(p.backend, p.config.Devices, a.Shape(), func(int) []byte {
			part := make([]byte, a.Shape().Bytes())
			rows := part[:len(part)-len(part)/(p.tiles.PerDevice+1)]
			mine = mine[copy(rows, mine):]
			return part
		})
		if err != nil {
			xlabridge.Free(out)
			return err
		}
		out = append(out, moved)
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
