package evolve

import (
	"errors"
	"fmt"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// usualChunks is the number of chunks of a generation, at most. More would be more messages, fewer would leave hosts
// without work at its end.
const usualChunks = 64

// chunk is the program that computes some of a generation's tiles on a host. When the rows of all tiles are there, the
// state's loop ends the generation.
type chunk struct {
	*run.SideProgram
	whole  *run.OtherStep // the whole generation, once it was wanted
	inputs generation.Inputs
	zeros  generation.Results // rows of all tiles
	sizes  []int              // bytes of a tile's row, leaf after leaf
	tiles  int                // of the population
	each   int                // tiles of a chunk
}

// join makes the programs of a host.
func (e *search) join(b xlabridge.Backend, o run.LoopOptions, first generation.State, in generation.Inputs) error {
	tiles, program := e.setup.Groups.Used()+e.setup.Groups.ExtraTiles(), e.program
	chunks := usualChunks
	if e.config.Chunks > 0 {
		chunks = e.config.Chunks
	}
	p := &chunk{inputs: in, tiles: tiles, each: (tiles + chunks - 1) / chunks}
	var err error
	if err := graph.Try(func() { p.zeros = program.RowsOfTiles(tiles) }); err != nil {
		return err
	}
	for _, a := range graph.Leaves(p.zeros) {
		p.sizes = append(p.sizes, a.Shape().Bytes()/tiles)
	}
	e.Loop, err = run.NewLoop(b, o, first, generation.Joined{Inputs: in, Rows: p.zeros}, program.TellJoined)
	if err != nil {
		return err
	}
	of := generation.Chunk{Inputs: in, First: graph.Int32s(make([]int32, e.setup.Groups.Devices)),
		Count: graph.Int32s(make([]int32, e.setup.Groups.Devices))}
	p.SideProgram, err = run.NewSideProgram(e.Loop, "chunk", of,
		func(s generation.State, in generation.Chunk) generation.Results {
			return program.EvaluateChunk(s, in, p.each)
		})
	if err != nil {
		return errors.Join(err, e.Loop.Close())
	}
	e.chunk = p
	return nil
}

// playAlone says whether this host computes the next generation alone, or the rows of all tiles are there.
func (s *search) playAlone(alone bool) (err error) {
	if !alone {
		s.Use(nil)
		return nil
	}
	if s.chunk.whole == nil {
		s.chunk.whole, err = run.NewOtherStep(s.Loop, s.chunk.inputs, s.program.Run)
	}
	s.Use(s.chunk.whole)
	return err
}

// Close frees the programs.
func (p *chunk) Close() error {
	if p.whole != nil {
		return errors.Join(p.whole.Close(), p.SideProgram.Close())
	}
	return p.SideProgram.Close()
}

// chunks returns the number of chunks of a generation.
func (p *chunk) chunks() int { return (p.tiles + p.each - 1) / p.each }

// tilesOf returns the first tile of a chunk and the number of its tiles.
func (p *chunk) tilesOf(chunk int) (first, count int) {
	return chunk * p.each, min(p.each, p.tiles-chunk*p.each)
}

// compute returns the rows of chunks, at most one for each device.
func (p *chunk) compute(chunks []int, devices int) ([][]byte, error) {
	first, count := make([]int32, devices), make([]int32, devices)
	for i, c := range chunks {
		f, n := p.tilesOf(c)
		first[i], count[i] = int32(f), int32(n)
	}
	out, err := p.Call(generation.Chunk{Inputs: p.inputs, First: graph.Int32s(first), Count: graph.Int32s(count)})
	if err != nil {
		return nil, err
	}
	defer xlabridge.Free(out)
	rows := make([][]byte, len(chunks))
	for leaf, a := range out {
		if err := graph.View(a, func(b []byte) error {
			for i := range chunks {
				begin := i * p.each * p.sizes[leaf]
				rows[i] = append(rows[i], b[begin:begin+int(count[i])*p.sizes[leaf]]...)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// joined returns the inputs that end a generation, given the rows of its chunks in order.
func (p *chunk) joined(rows [][]byte) (generation.Joined, error) {
	leaves, tree := graph.Flatten(p.zeros)
	data := make([][]byte, len(leaves))
	for chunk, b := range rows {
		_, tiles := p.tilesOf(chunk)
		want := 0
		for _, size := range p.sizes {
			want += size * tiles
		}
		if len(b) != want {
			return generation.Joined{}, fmt.Errorf("chunk %d has %d bytes of rows, want %d: all hosts need the same "+
				"version of xlarun", chunk, len(b), want)
		}
		for leaf, size := range p.sizes {
			data[leaf] = append(data[leaf], b[:size*tiles]...)
			b = b[size*tiles:]
		}
	}
	arrays := make([]*graph.Array, len(leaves))
	for i, a := range leaves {
		arrays[i] = graph.FromBytes(a.Shape(), data[i])
	}
	return generation.Joined{Inputs: p.inputs, Rows: tree.Unflatten(arrays).(generation.Results)}, nil
}

// member returns the number of the member that a byte of a chunk's rows belongs to; -1: none.
func (p *chunk) member(chunk, offset int, e *search) int {
	first, tiles := p.tilesOf(chunk)
	for _, size := range p.sizes {
		if offset >= size*tiles {
			offset -= size * tiles
			continue
		}
		lanes := e.setup.Layout.Tile // sides times lanes
		return e.MemberAt(first+offset/size, offset%size*lanes/size)
	}
	return -1
}
