package sparse

import (
	"cmp"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// selection replaces the worst members by copies of the best, by their accuracy on examples that nobody learns from.
type selection struct {
	held     Images      // the held-out examples
	data     Batches     // on the devices
	evaluate *evaluation // nil: there is no selection
	last     *Stats      // of the newest selection, before it; nil after it was reported
}

// holdOut takes the last examples of the training data out, for the selection.
func (p *Population) holdOut() error {
	c := p.config
	if c.Select == 0 {
		return nil
	}
	n := p.data.Train.Len()
	if err := c.checkHeldOut(n); err != nil {
		return err
	}
	p.selection.held, p.data.Train = p.data.Train.split(n - c.HeldOut)
	return nil
}

// compileSelection compiles the evaluation on the held-out examples.
func (p *Population) compileSelection() (err error) {
	s := &p.selection
	if p.config.Select == 0 {
		return nil
	}
	if s.data, err = xlabridge.Put(p.backend, p.config.Devices, s.held.chunks()); err != nil {
		return err
	}
	s.evaluate, err = p.compileEvaluation("sparse_select", s.data)
	return err
}

// selectMembers replaces the worst members. It depends on the members alone, so that a resumed run does the same. After
// it, the indexes are out of date.
func (p *Population) selectMembers() error {
	s := &p.selection
	if s.evaluate == nil {
		return nil
	}
	in := p.baseInputs()
	in.Data = s.data
	out, err := s.evaluate.Call(reading{p.members, p.indexes, in})
	if err != nil {
		return err
	}
	stats, err := p.stats(out, s.held.Len())
	if err != nil {
		return err
	}
	s.last = &stats
	return p.copyRows(parents(stats, p.config.Select))
}

// parents returns the member whose copy each member becomes: its own number, or one of the best for a share of the
// worst. Members with more correct answers are better; among equal ones those with less loss, then the first.
func parents(s Stats, share float64) []int {
	order := make([]int, len(s.Loss))
	for i := range order {
		order[i] = i
	}
	loss := func(i int) float64 {
		if math.IsNaN(s.Loss[i]) {
			return math.Inf(1)
		}
		return s.Loss[i]
	}
	failed := func(i int) int {
		if math.IsInf(loss(i), 1) {
			return 1
		}
		return 0
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(failed(a), failed(b)), cmp.Compare(s.Accuracy[b], s.Accuracy[a]),
			cmp.Compare(loss(a), loss(b)), cmp.Compare(a, b))
	})
	parent := make([]int, len(order))
	for i := range parent {
		parent[i] = i
	}
	n := min(int(math.Round(share*float64(len(order)))), len(order)/2)
	for i := range n {
		parent[order[len(order)-1-i]] = order[i]
	}
	return parent
}

// copyRows makes each member a copy of its parent. The members pass through the host: they may move to other devices.
func (p *Population) copyRows(parent []int) error {
	members := graph.Leaves(p.members)
	next := make([]*graph.Array, len(members))
	for i, a := range members {
		host, err := p.tiles.ToHost(a)
		if err != nil {
			return err
		}
		from, err := graph.HostBytes(host)
		if err != nil {
			return err
		}
		row := len(from) / len(parent)
		to := make([]byte, 0, len(from))
		for _, j := range parent {
			to = append(to, from[j*row:(j+1)*row]...)
		}
		if next[i], err = p.tiles.FromHost(p.backend, graph.FromBytes(host.Shape(), to), a.Shape()); err != nil {
			xlabridge.Free(next[:i])
			return err
		}
	}
	xlabridge.Free(p.members)
	p.members = memberOf(next)
	return nil
}
