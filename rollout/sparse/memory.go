package sparse

import (
	"fmt"
	"sort"

	"xlarun/rollout"
)

// memory is an estimate of what the run holds at once by a method, in bytes, on all devices together; ok is false where
// it does not fit in an int64.
func (p *Population) memory(m method, population int) (total int64, ok bool) {
	sum := &rollout.Tally{}
	devices := uint64(p.config.Devices)
	tiles := rollout.CutTiles(population, 1, p.config.Devices)
	rows, all := devices*uint64(tiles.PerDevice+1), uint64(tiles.Total())
	connections := uint64(p.shape.Connections())
	sum.Add(8+4, rows, connections) // places and weights; weights in and out
	sum.Add(2*8, all, connections)  // for checkpoints, on the host: one that is held, and the next
	for _, s := range m.indexShapes() {
		sum.Add(uint64(s.DType.Size()), rows, uint64(s.Size()))
	}
	pixels := uint64(p.data.Train.Pixels)
	sum.Add(devices+1, uint64(p.data.Test.Len()+testLanes), pixels) // devices and host
	sum.Add(devices+2, uint64(p.rounds), uint64(p.lanes), pixels)
	work := &rollout.Tally{}
	m.work(work, max(p.lanes, testLanes))
	each, fits := work.Total()
	if !fits {
		return 0, false
	}
	sum.Add(devices, uint64(each))
	for _, l := range p.shape { // what a mutation and the first members draw
		sum.Add(4*4, devices, uint64(l.In), uint64(l.Out))
	}
	return sum.Total()
}

// fit refuses a run that does not fit in memory, with the largest population that does. "" is the method to be measured:
// the fixed rule's has to fit.
func (p *Population) fit(name string) error {
	if name == "" {
		name = p.candidates()[0]
	}
	m := p.config.methodOf(name, p.shape)
	need, ok := p.memory(m, p.config.Population)
	p.profile.PlannedBytes, p.profile.MemoryBudget = need, p.free
	if ok && (p.free == 0 || need <= p.free) {
		return nil
	}
	c := p.config
	size, room, advice := "more than 4 EiB", "", "make the networks or the population smaller"
	if ok {
		size = "about " + rollout.BytesText(need)
	}
	if p.free > 0 {
		room = " and " + rollout.BytesText(p.free) + " is free"
		if c.Memory > 0 {
			room = " and " + rollout.BytesText(p.free) + " is allowed"
		}
		advice = p.advice(m, p.free)
	}
	return wrong("Population", fmt.Sprint(c.Population), fmt.Sprintf("a run that fits in memory: %d members of %d connections take %s%s; %s",
		c.Population, p.shape.Connections(), size, room, advice))
}

// advice names the largest population that fits.
func (p *Population) advice(m method, free int64) string {
	most := sort.Search(p.config.Population, func(n int) bool {
		need, ok := p.memory(m, n+1)
		return !ok || need > free
	})
	if most == 0 {
		return "no population fits: make the networks or the batch smaller"
	}
	return fmt.Sprintf("the largest population that fits is %d", most)
}

// fitCompiled holds what the compiler says against a budget that somebody gave.
func (p *Population) fitCompiled() error {
	total, budget := p.profile.PeakMemoryBytes*int64(p.config.Devices), p.config.Memory
	if budget == 0 || total <= budget {
		return nil
	}
	// What the compiler's figure leaves for the estimate.
	free := int64(float64(budget) * float64(p.profile.PlannedBytes) / float64(total))
	return wrong("Population", fmt.Sprint(p.config.Population), fmt.Sprintf("a run that fits in memory: the compiled program takes %s and %s is allowed; %s",
		rollout.BytesText(total), rollout.BytesText(budget), p.advice(p.method, free)))
}
