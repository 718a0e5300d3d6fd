package evolve

import (
	"fmt"
	"sort"

	"xlarun/rollout"
)

// memory is an estimate of what the run holds at once, in bytes, on all devices together. ok is false where it does not
// fit in an int64.
func (p *plan) memory() (total int64, ok bool) {
	params := uint64(p.policy.NumParams())
	devices := uint64(p.groups.Devices)
	rows := devices * uint64(p.groups.PerDevice+1) // of rollout.Tiles.Rows
	lanes := uint64(p.groups.Lanes)
	members := lanes * uint64(p.strategy.GroupSize())
	sum := &rollout.Tally{}
	if p.redraw {
		sum.Add(4, rows, params)             // the noise of each tile's best
		sum.Add(2*4, devices, lanes, params) // a tile's noise
	} else {
		sum.Add(4, rows, lanes, params) // the noise
	}
	if k, ok := p.strategy.(Keeper); ok {
		sum.Add(3*4, devices, uint64(k.Keeps()), params) // kept, in and out
		sum.Add(2*4, devices, rows, lanes, params)       // all noise, everywhere
	}
	sum.Add(2*4, devices, members, params)                   // a tile's members, before and after they are unravelled
	sum.Add(6*4, devices, params)                            // state, optimiser, best, in and out
	sum.Add(4, rows, params)                                 // sums by tile
	sum.Add(4, devices, rows, params)                        // and gathered, everywhere
	sum.Add(64, devices, members, uint64(p.config.Episodes)) // states and observations of the environments
	sum.Add(64, devices, uint64(p.config.Population))        // fitness, ranks, keys
	sum.Add(1, devices, rankBytes(uint64(p.config.Population)))
	return sum.Total()
}

// Keeper is a Strategy that asks for all noise at once and keeps some of the members.
type Keeper interface {
	Strategy
	// Keeps is the number of vectors that the state holds.
	Keeps() int
}

// fit makes the run need no more than free bytes; 0 means that nobody knows. It keeps the plan where it can and has noise
// drawn again in place of kept, which changes no result; a tile of another size, which changes last digits, is taken only
// after that, and not where the config gives one.
func (p *plan) fit(free int64) error {
	layout, source := p.layout, p.source
	if p.lean(free) {
		return nil
	}
	p.lay(layout, source)
	return p.tooLarge(free)
}

// lean finds the first way that fits.
func (p *plan) lean(free int64) bool {
	layout := p.layout
	for _, tile := range p.tilesNear(layout.Tile) {
		for _, redraw := range []bool{false, true} {
			p.redraw, layout.Tile = redraw || p.mustRedraw, tile
			p.lay(layout, p.source)
			if need, ok := p.memory(); ok && (free == 0 || need <= free) {
				return true
			}
		}
	}
	return false
}

// tilesNear are the sizes that a tile may have instead of the one at hand, which comes first.
func (p *plan) tilesNear(tile int) []int {
	tiles := []int{tile}
	if p.config.Tile != 0 {
		return tiles
	}
	unit := 8 * p.strategy.GroupSize()
	for factor := 2; factor <= 16; factor *= 2 {
		if small := tile / factor / unit * unit; small >= unit {
			tiles = append(tiles, small)
		}
		if large := tile * factor; large < 2*p.config.Population {
			tiles = append(tiles, large)
		}
	}
	return tiles
}

// tooLarge is the error of a run that fits in no way.
func (p *plan) tooLarge(free int64) error {
	c := p.config
	p.redraw = true
	need, ok := p.memory()
	// Two things make a run large; name the larger one.
	key, got := "Population", fmt.Sprint(c.Population)
	if p.policy.NumParams() > c.Population {
		key, got = "Policy", fmt.Sprintf("%q", c.Policy)
	}
	size, room, advice := "more than 4 EiB", "", "make the policy smaller"
	if ok {
		size = "about " + rollout.BytesText(need)
	}
	if free > 0 {
		room = " and " + rollout.BytesText(free) + " is free"
		if c.Memory > 0 {
			room = " and " + rollout.BytesText(free) + " is allowed"
		}
		if most := p.largest(free); most > 0 {
			advice = fmt.Sprintf("the largest population that fits is %d", most)
		} else {
			advice += ", no population fits"
		}
	}
	return &ConfigError{key, got, fmt.Sprintf("a run that fits in memory: %d members of %d parameters take %s%s; %s",
		c.Population, p.policy.NumParams(), size, room, advice)}
}

// tooLargeCompiled is the error of a run whose program takes total bytes, more than the budget.
func (p *plan) tooLargeCompiled(total int64) error {
	budget := p.config.Memory
	// What the compiler's figure leaves for the estimate.
	need, _ := p.memory()
	most := p.largest(int64(float64(budget) * float64(need) / float64(total)))
	return &ConfigError{"Population", fmt.Sprint(p.config.Population), fmt.Sprintf("a run that fits in memory: the compiled program takes %s and %s is allowed; the largest population that fits is about %d",
		rollout.BytesText(total), rollout.BytesText(budget), most)}
}

// largest is the largest population that fits in free bytes, 0 where none does.
func (p *plan) largest(free int64) int {
	group := p.strategy.GroupSize()
	fits := func(groups int) bool {
		c := p.config
		c.Population = groups * group
		q := &plan{config: c, policy: p.policy, strategy: strategies[c.Strategy](c.Population), on: p.on}
		layout, source := q.staticPlan()
		q.lay(layout, source)
		return q.lean(free)
	}
	return group * sort.Search(p.config.Population/group, func(n int) bool { return !fits(n + 1) })
}
