package generation

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// memberKeys are the keys of one generation, for this device's tiles. Like all rows of a device (population.Tiles.Rows)
// they have one row more than there are tiles.
type memberKeys struct {
	Groups  random.Key   // u32[PerDevice+1, lanes, 2]: of each group's draw
	Members random.Key   // u32[PerDevice+1, sides, lanes, 2]: of each member's episodes
	Index   *graph.Array // i32[PerDevice+1, lanes]: each group's number in the population; the last one's for padding
}

// keys makes the keys of a generation. With ask = FoldIn(State.Key, 2·generation) and play = FoldIn(State.Key,
// 2·generation+1), group i has the key FoldIn(ask, i) and member i the key FoldIn(play, i), counted over the whole
// population.
//
// They are made for all tiles at once, outside of the loop over tiles: whole numbers do not depend on shapes.
func (p *Program) keys(s State) memberKeys {
	t, sides := p.Groups, p.Strategy.GroupSize()
	index := graph.Iota((t.PerDevice+1)*t.Lanes).SplitAxis(0, t.PerDevice+1, t.Lanes).Add(t.First().Mul(t.Lanes))
	parents, number := p.deviceKeys(askAndPlay(s), index, graph.Quo(t.First(), t.PerDevice))

	// Row 0 counts groups under ask, row 1+side the members of that side under play.
	row := graph.Iota(1 + sides)
	parent := graph.Take(graph.Once(parents.Data), row.Min(1), 0)
	offset := row.Sub(1).Max(0).Mul(t.Items)
	all := graph.VMap(func(number *graph.Array) random.Key { // a tile
		return graph.VMap2(func(parent random.Key, offset *graph.Array) random.Key { // a row
			return graph.VMap2(foldIn, graph.InAxes(graph.Unmapped, 0))(parent, number.Add(offset))
		})(random.Key{Data: parent}, offset)
	})(number)
	data := graph.Once(all.Data) // [PerDevice+1, 1+sides, lanes, 2]
	return memberKeys{
		Groups:  random.Key{Data: graph.SliceAxis(data, 1, 0, 1).Squeeze(1)},
		Members: random.Key{Data: graph.SliceAxis(data, 1, 1, 1+sides)},
		Index:   index.Min(t.Items - 1),
	}
}

// askAndPlay returns the two keys of a generation, u32[2, 2].
func askAndPlay(s State) random.Key {
	return graph.VMap2(foldIn, graph.InAxes(graph.Unmapped, 0))(s.Key, s.Generation.Mul(2).Add(graph.Iota(2)))
}

// deviceKeys is all that --keys device changes: ask and play are folded with a device's number, and groups are counted
// from the device's first one. Without that setting it returns parents and index.
func (p *Program) deviceKeys(parents random.Key, index, device *graph.Array) (random.Key, *graph.Array) {
	if !p.Options.DeviceKeys {
		return parents, index
	}
	first := device.Mul(p.Groups.PerDevice * p.Groups.Lanes)
	return graph.VMap2(foldIn, graph.InAxes(0, graph.Unmapped))(parents, device), index.Sub(first)
}

func foldIn(key random.Key, i *graph.Array) random.Key { return random.FoldIn(key, i) }

// tile returns the keys of one tile of this device: the leaves without axis 0.
func (k memberKeys) tile(tile *graph.Array) memberKeys { return graph.Once(population.At(k, tile)) }
