package evolve

import (
	"fmt"

	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// rule is the plan by rule, or the one that the config gives. A config that gives one of Tile, LanesLast and Unroll leaves
// the others to the rule.
func (x *experiment) rule() plan.Plan {
	c := x.config
	layout := plan.Plan{Devices: c.Devices, Tile: c.Tile, LanesLast: c.LanesLast, Unroll: max(1, c.Unroll)}
	if x.on.CPU {
		layout.VectorWidth = plan.VectorWidth
		if c.VectorWidth > 0 {
			layout.VectorWidth = c.VectorWidth
		}
	}
	if c.Tile == 0 {
		layout.Tile = x.tiling().Tile()
	}
	return layout
}

// givesPlan tells whether the config says how to lay the population out.
func (c *Config) givesPlan() bool { return len(c.Given()) > 0 }

// Given are the settings that do.
func (c *Config) Given() (names []string) {
	for _, s := range []struct {
		name  string
		given bool
	}{{"tile", c.Tile != 0}, {"lanes-last", c.LanesLast}, {"unroll", c.Unroll != 0}, {"vector-width", c.VectorWidth != 0}} {
		if s.given {
			names = append(names, s.name)
		}
	}
	return names
}

func (x *experiment) tiling() plan.Tiling {
	return plan.TilingOf(x.config.Population, x.strategy.GroupSize(), x.read, x.config.Episodes, x.on.Accelerator)
}

// lay cuts the population by a layout.
func (x *experiment) lay(layout plan.Plan) {
	size := x.strategy.GroupSize()
	x.layout = layout
	x.groups = population.CutTiles(x.config.Population/size, layout.Tile/size, layout.Devices)
	x.groups.Alone = x.alone
}

// fit makes the run need no more than what is free; 0 means that nobody knows. It keeps the plan where it can and has draws
// made again in place of kept, which changes no result; a tile of another size, which changes last digits, is taken only
// after that, and not where the config gives one.
func (x *experiment) fit() error {
	layout := x.layout
	if x.lean() {
		return nil
	}
	x.lay(layout)
	return x.tooLarge()
}

// lean finds the first way that fits.
func (x *experiment) lean() bool {
	layout := x.layout
	for _, tile := range x.tilesNear(layout.Tile) {
		for _, redraw := range []bool{false, true} {
			if redraw && x.migrating.travellers > 0 {
				continue // who arrives is put among draws that are kept
			}
			x.redraw, layout.Tile = redraw || x.mustRedraw, tile
			x.lay(layout)
			if need, ok := x.memory(); ok && (x.on.Free == 0 || need <= x.on.Free) {
				return true
			}
		}
	}
	return false
}

// tilesNear are the sizes that a tile may have instead of the one at hand, which comes first.
func (x *experiment) tilesNear(tile int) []int {
	tiles := []int{tile}
	if x.config.Tile != 0 {
		return tiles
	}
	unit := 8 * x.strategy.GroupSize()
	for factor := 2; factor <= 16; factor *= 2 {
		if small := tile / factor / unit * unit; small >= unit {
			tiles = append(tiles, small)
		}
		if large := tile * factor; large < 2*x.config.Population {
			tiles = append(tiles, large)
		}
	}
	// Of members that are very large, a few at a time.
	for few := unit / 2; few >= x.strategy.GroupSize(); few /= 2 {
		if few < tile && few%x.strategy.GroupSize() == 0 {
			tiles = append(tiles, few)
		}
	}
	return tiles
}

// tooLarge is the error of a run that fits in no way.
func (x *experiment) tooLarge() error {
	c := x.config
	x.redraw = true
	need, ok := x.memory()
	most := 0
	if x.on.Free > 0 {
		most = x.largest(x.on.Free)
	}
	key, got := "pop", fmt.Sprint(c.Population)
	if most == 0 && x.params > c.Population { // of the two things that make a run large, the larger one
		key, got = "policy", fmt.Sprintf("%q", c.Policy)
	}
	if c.Memory > 0 && most == 0 {
		key, got = "memory", plan.BytesText(int64(c.Memory))
	}
	e := plan.TooLarge(fmt.Sprintf("%d members of %d parameters", c.Population, x.params), need, ok, x.on.Free, c.Memory > 0, most)
	return &settings.Error{Key: key, Got: got, Wants: e}
}

// tooLargeCompiled is the error of a run whose program takes total bytes, more than the budget.
func (x *experiment) tooLargeCompiled(total int64) error {
	budget := int64(x.config.Memory)
	// What the compiler's figure leaves for the estimate.
	need, _ := x.memory()
	most := x.largest(int64(float64(budget) * float64(need) / float64(total)))
	return settings.Wrong("pop", x.config.Population, "a run that fits in memory: the compiled program takes %s and %s is allowed; the largest population that fits is about %d",
		plan.BytesText(total), plan.BytesText(budget), most)
}

// largest is the largest population that fits in free bytes, 0 where none does.
func (x *experiment) largest(free int64) int {
	group := x.strategy.GroupSize()
	fits := func(groups int) bool {
		q := *x
		q.on.Free, q.config.Population = free, groups*group
		q.lay(q.rule())
		return q.lean()
	}
	return group * plan.Largest(x.config.Population/group, fits)
}
