package generation

import (
	"fmt"

	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// rule returns the default plan. Tile, BatchLast, Unroll, EpisodeBatch and VectorWidth of the search come first.
func (x *Setup) rule() plan.Plan {
	c := x.Search
	layout := plan.Plan{Devices: c.Devices, Tile: c.Tile, BatchLast: c.BatchLast, Unroll: c.Unroll,
		EpisodeBatch: x.episodeBatch()}
	if c.Unroll == 0 {
		layout.Unroll = plan.DefaultUnroll(c.Steps, x.Machine.Accelerator)
	}
	if x.Machine.CPU {
		layout.VectorWidth = plan.VectorWidth
		if c.VectorWidth > 0 {
			layout.VectorWidth = c.VectorWidth
		}
	}
	if x.Machine.CPU && len(c.Given()) == 0 {
		layout.BatchLast = x.narrow()
	}
	if c.Tile == 0 {
		layout.Tile = x.tiling().Tile()
	} else { // more than all members of a device would be computed for nothing
		group := x.Strategy.GroupSize
		groups := (c.Population/group + max(1, c.Devices) - 1) / max(1, c.Devices)
		layout.Tile = min(layout.Tile, groups*group)
	}
	return layout
}

func (x *Setup) tiling() plan.Tiling {
	if x.shared && x.Machine.CPU {
		return plan.SharedTiling(x.Search.Population, x.Strategy.GroupSize, x.episodeBatch())
	}
	return plan.TilingOf(x.Search.Population, x.Strategy.GroupSize, x.reads, x.episodeBatch(), x.Machine.Accelerator)
}

func (x *Setup) episodeBatch() int {
	if x.Search.EpisodeBatch > 0 {
		return x.Search.EpisodeBatch
	}
	return plan.EpisodeBatch(x.Search.Episodes, x.reads.Member(), x.Machine.Accelerator)
}

// Lay sets the layout and cuts the population into tiles.
func (x *Setup) Lay(layout plan.Plan) {
	size := x.Strategy.GroupSize
	x.Layout = layout
	x.Groups = population.CutTiles(x.Search.Population/size, layout.Tile/size, layout.Devices)
	x.Groups.Alone = x.Options.Alone
	x.Groups.Single = x.Machine.Accelerator && x.Groups.Total() == 1 && x.Options.spread()
	x.Groups = x.Groups.WithExtra(groupsOf(x.Search.EvalMembers(x.Search.Episodes), size))
}

// Fit makes the run fit in the free memory (0: unknown). Its first choice is to regenerate noise instead of storing it,
// which changes no result. The next one is a tile of another size, which changes last digits, unless the search gives
// the tile.
func (x *Setup) Fit() error {
	layout := x.Layout
	if x.fits() {
		return nil
	}
	x.Lay(layout)
	return x.tooLarge()
}

// ForceRegenerate makes the run regenerate its noise. It is for compiled programs that take too much memory with stored
// noise.
func (x *Setup) ForceRegenerate() error {
	x.mustRegenerate = true
	return x.Fit()
}

// fits sets the first tile and the way to keep noise that fit in memory. It reports whether there is one.
func (x *Setup) fits() bool {
	layout := x.Layout
	for _, tile := range x.tilesNear(layout.Tile) {
		for _, regenerate := range []bool{false, true} {
			if regenerate && x.Options.Migrants > 0 {
				continue // immigrants are written to stored noise
			}
			x.Regenerate, layout.Tile = regenerate || x.mustRegenerate, tile
			x.Lay(layout)
			if need, ok := x.Memory(); ok && (x.Machine.Free == 0 || need <= x.Machine.Free) {
				return true
			}
		}
	}
	return false
}

// tilesNear returns sizes of tiles to try: the given one first, and only that one if the search gives it.
func (x *Setup) tilesNear(tile int) []int {
	tiles := []int{tile}
	if x.Search.Tile != 0 {
		return tiles
	}
	unit := 8 * x.Strategy.GroupSize
	for factor := 2; factor <= 16; factor *= 2 {
		if small := tile / factor / unit * unit; small >= unit {
			tiles = append(tiles, small)
		}
		if large := tile * factor; large < 2*x.Search.Population {
			tiles = append(tiles, large)
		}
	}
	// For very large members.
	for few := unit / 2; few >= x.Strategy.GroupSize; few /= 2 {
		if few < tile && few%x.Strategy.GroupSize == 0 {
			tiles = append(tiles, few)
		}
	}
	return tiles
}

// tooLarge returns the error of a run that does not fit.
func (x *Setup) tooLarge() error {
	c := x.Search
	x.Regenerate = true
	need, ok := x.Memory()
	most := 0
	if x.Machine.Free > 0 {
		most = x.largest(x.Machine.Free)
	}
	key, got := "pop", fmt.Sprint(c.Population)
	if most == 0 && x.Params > c.Population { // the key of the larger cause
		key, got = "policy", fmt.Sprintf("%q", c.Policy)
	}
	if c.Memory > 0 && most == 0 {
		key, got = "memory", plan.BytesText(int64(c.Memory))
	}
	e := plan.TooLarge(fmt.Sprintf("%d members of %d parameters", c.Population, x.Params), need, ok, x.Machine.Free,
		c.Memory > 0, most)
	return &settings.Error{Key: key, Got: got, Wants: e}
}

// TooLargeCompiled returns the error of a run whose program takes total bytes, more than the budget.
func (x *Setup) TooLargeCompiled(total int64) error {
	need, _ := x.Memory()
	return settings.Wrong("pop", x.Search.Population, "%s",
		plan.TooLargeCompiled(total, int64(x.Search.Memory), need, x.largest))
}

// largest returns the largest population that fits in free bytes, or 0.
func (x *Setup) largest(free int64) int {
	group := x.Strategy.GroupSize
	enough := func(groups int) bool {
		q := *x
		q.Machine.Free, q.Search.Population = free, groups*group
		q.Lay(q.rule())
		return q.fits()
	}
	return group * plan.Largest(x.Search.Population/group, enough)
}
