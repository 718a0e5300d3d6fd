package generation

import (
	"xlarun/graph"
	"xlarun/rollout/population"
)

// Chunk is the input of Program.EvaluateChunk: a part of the population's tiles.
type Chunk struct {
	Inputs
	First *graph.Array // i32[devices]: each device's first tile
	Count *graph.Array // i32[devices]: the number of its tiles, at most perDevice
}

// EvaluateChunk plays the members of some tiles. It returns the rows of perDevice tiles of each device, leaves
// [devices·perDevice, …], the same on every device; rows beyond Count are zeros. A tile's rows depend on the state and
// on the tile's number alone.
func (p *Program) EvaluateChunk(s State, in Chunk, perDevice int) Results {
	p = p.Bind(in.Inputs)
	device := graph.AxisIndex(graph.DeviceAxis)
	p.Groups = p.Groups.Part(graph.DynamicIndex(in.First, device, 0),
		graph.DynamicIndex(in.Count, device, 0), perDevice)
	keys, result := p.keys(s), p.result(s)
	tiles := p.playing(s, in.Inputs)
	return p.gather(population.Each(tiles, in.Tiles, p.buffers().Results, func(tile *graph.Array) Results {
		k := keys.tile(tile)
		return p.evaluate(s, tile, p.ask(s, k), result, k.Members)
	}))
}

// Joined are the inputs of Program.TellJoined.
type Joined struct {
	Inputs
	Rows Results // of all tiles, leaves [tiles, …]
}

// TellJoined is the end of a generation whose tiles were played by EvaluateChunk. It returns what Run returns.
func (p *Program) TellJoined(s State, in Joined) (State, *graph.Array) {
	p = p.Bind(in.Inputs)
	keys := p.keys(s)
	return p.tellWithNumbers(s, in.Inputs, keys, p.regeneratedNoise(s, in.Inputs, keys), in.Rows)
}

// RowsOfTiles returns zeros like the rows of a number of tiles.
func (p *Program) RowsOfTiles(tiles int) Results {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.Zeros(graph.ShapeOf(a.DType(), append([]int{tiles}, a.Dims()[1:]...)...))
	}, p.buffers().Results)
}
