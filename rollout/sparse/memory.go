package sparse

import (
	"fmt"

	"xlarun/rollout/plan"
	pop "xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// memory estimates the memory of a run with a method, in bytes, on all devices together. ok is false if it does not fit
// in an int64.
func (p *Population) memory(m method, population int) (total int64, ok bool) {
	sum := &plan.Tally{}
	devices := uint64(p.config.Devices)
	tiles := pop.CutTiles(population, 1, p.config.Devices)
	rows, all := devices*uint64(tiles.PerDevice+1), uint64(tiles.Total())
	connections := uint64(p.shape.Connections())
	sum.Add(8+4, rows, connections) // places and weights; weights in and out
	sum.Add(2*8, all, connections)  // for checkpoints, on the host: the last one and the next
	for _, s := range m.indexShapes() {
		sum.Add(uint64(s.DType.Size()), rows, uint64(s.Size()))
	}
	pixels := uint64(p.data.Train.Pixels)
	sum.Add(devices+1, uint64(p.data.Test.Len()+testLanes), pixels) // devices and host
	if n := p.selection.held.Len(); n > 0 {
		sum.Add(devices+1, uint64(n+testLanes), pixels)
	}
	sum.Add(devices+2, uint64(p.rounds), uint64(p.lanes), pixels)
	work := &plan.Tally{}
	m.work(work, max(p.lanes, testLanes))
	each, fits := work.Total()
	if !fits {
		return 0, false
	}
	sum.Add(devices, uint64(each))
	for _, l := range p.shape { // draws of a mutation and of the first members
		sum.Add(4*4, devices, uint64(l.In), uint64(l.Out))
	}
	return sum.Total()
}

// fit refuses a run that does not fit in memory. The error has the largest population that fits.
func (p *Population) fit(name string) error {
	m := p.config.methodOf(name, p.shape)
	need, ok := p.memory(m, p.config.Population)
	p.profile.PlannedBytes, p.profile.MemoryBudget = need, p.free
	if ok && (p.free == 0 || need <= p.free) {
		return nil
	}
	return settings.Wrong("pop", p.config.Population, "%s",
		plan.TooLarge(fmt.Sprintf("%d members of %d connections", p.config.Population, p.shape.Connections()),
			need, ok, p.free, p.config.Memory > 0, p.largest(m, p.free)))
}

// fits reports whether the run fits in memory with a method.
func (p *Population) fits(name string) bool {
	need, ok := p.memory(p.config.methodOf(name, p.shape), p.config.Population)
	return ok && (p.free == 0 || need <= p.free)
}

// largest returns the largest population that fits in free bytes.
func (p *Population) largest(m method, free int64) int {
	return plan.Largest(p.config.Population, func(n int) bool {
		need, ok := p.memory(m, n)
		return ok && need <= free
	})
}

// fitCompiled compares the compiler's number of bytes with the budget of the config.
func (p *Population) fitCompiled() error {
	total, budget := p.profile.PeakMemoryBytes*int64(p.config.Devices), int64(p.config.Memory)
	if budget == 0 || total <= budget {
		return nil
	}
	return settings.Wrong("pop", p.config.Population, "%s", plan.TooLargeCompiled(total, budget, p.profile.PlannedBytes,
		func(free int64) int { return p.largest(p.method, free) }))
}
