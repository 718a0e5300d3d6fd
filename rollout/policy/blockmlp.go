package policy

import (
	"math"
	"math/rand/v2"
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("blockmlp", &BlockMLPSettings{Hidden: []int{256, 256}, Between: Between{Activation: "tanh"},
		Block: 32, Density: .25,
		Masks: sharedMasks})
}

// BlockMLPSettings are the settings of the policy "blockmlp".
type BlockMLPSettings struct {
	Hidden []int `set:"hidden" args:"" min:"1" max:"16777216" wants:"the hidden layers' sizes, whole numbers from 1 to 16777216 between commas" help:"sizes of the hidden layers"`
	Between
	Block    int     `set:"block" min:"1" max:"1024" help:"rows and columns of a block"`
	Density  float64 `set:"density" above:"0" max:"1" help:"share of the blocks between two hidden layers that exist"`
	MaskSeed int64   `set:"mask-seed" help:"seed of the shared masks"`
	Masks    string  `set:"masks" oneof:"shared,own" help:"which blocks exist: the same for all members (shared), or drawn with each member's parameters (own, for strategies whose genomes are trees)"`
}

// Values of BlockMLPSettings.Masks.
const (
	sharedMasks = "shared"
	ownMasks    = "own"
)

// Make makes a BlockMLP. It refuses a single hidden layer, because blocks lie between two hidden layers, and layers
// that are not whole blocks.
func (s *BlockMLPSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	if len(s.Hidden) < 2 {
		return nil, settings.Wrong("policy.hidden", s.Hidden, "two hidden layers at least: the blocks are between "+
			"them; mlp has one")
	}
	for _, n := range s.Hidden {
		if n%s.Block != 0 {
			return nil, settings.Wrong("policy.hidden", n, "a multiple of policy.block, %d", s.Block)
		}
	}
	dense, err := NewMLP([]int{s.Hidden[0]}, nn.Activation(s.Activation), observation, outputs)
	if err != nil {
		return nil, err
	}
	b := &BlockMLP{BlockMLPSettings: *s, dense: dense}
	draw := rand.NewPCG(uint64(s.MaskSeed), 0)
	for i, in := range s.Hidden[:len(s.Hidden)-1] {
		if blocks := in / s.Block * (s.Hidden[i+1] / s.Block); blocks > mostBlocks {
			return nil, settings.Wrong("policy.hidden", s.Hidden, "layers of at most %d blocks: with blocks of %d, "+
				"between %d and %d units there are %d; make the blocks larger", mostBlocks, s.Block, in, s.Hidden[i+1],
				blocks)
		}
		layer := blockLayer{in: in / s.Block, out: s.Hidden[i+1] / s.Block}
		layer.each = max(1, int(math.Round(s.Density*float64(layer.in))))
		for range layer.out {
			layer.from = append(layer.from, sample(draw, layer.in, layer.each)...)
		}
		b.layers = append(b.layers, layer)
	}
	return Erase(b), nil
}

// mostBlocks is the largest number of blocks between two layers. Up to it, choosing among them takes no time.
const mostBlocks = 1 << 22

// sample draws k of the numbers 0 to n-1 without repetition, sorted.
func sample(draw *rand.PCG, n, k int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	for i := range k {
		j := i + int(draw.Uint64()%uint64(n-i))
		all[i], all[j] = all[j], all[i]
	}
	slices.Sort(all[:k])
	return all[:k]
}

// BlockMLP is a multilayer perceptron whose matrices between hidden layers are block-sparse: only some blocks exist,
// have parameters and are multiplied. Every block of units reads the same number of blocks of the layer before. The
// first and the last layer are dense.
//
// With shared masks the blocks follow from mask-seed and the sizes, so that all members have the same ones. A weight is
// then the same connection in every member, and strategies may average members. With own masks, Init draws the blocks.
// They are whole numbers among the parameters: strategies do not change them, and strategies among vectors refuse them.
//
// On CPU a member's product is a vector times a matrix, which waits for memory. There, 256,256 with a quarter of its
// blocks takes 0.3 of the time of mlp:256,256 with blocks of 32, and 0.45 with blocks of 16.
type BlockMLP struct {
	Stateless[BlockParams]
	BlockMLPSettings
	dense  *MLP // observation to the first hidden layer
	layers []blockLayer
}

// blockLayer says which blocks of a layer's matrix exist. Sizes are in blocks.
type blockLayer struct {
	in, out, each int
	from          []int32 // [out*each]: for each block of units, the blocks of the layer before that it reads
}

// Describe returns the blocks that exist (see Reads), and the activation.
func (b *BlockMLP) Describe(params BlockParams) (map[string]any, error) {
	reads, err := b.Reads(params)
	return map[string]any{"reads": reads, "activation": b.Activation}, err
}

// Reads returns the blocks that each block of units of a member reads, by their number in the layer before:
// [layer][block][read].
func (b *BlockMLP) Reads(p BlockParams) (all [][][]int32, err error) {
	for i, l := range b.layers {
		from := l.from
		if i < len(p.Blocks) && p.Blocks[i].From != nil { // the member's own
			indices, err := graph.Floats(p.Blocks[i].From)
			if err != nil {
				return nil, err
			}
			from = make([]int32, len(indices))
			for k, v := range indices {
				from[k] = int32(v)
			}
		}
		layer := make([][]int32, l.out)
		for i := range layer {
			layer[i] = from[i*l.each : (i+1)*l.each]
		}
		all = append(all, layer)
	}
	return all, nil
}

// BlockParams are the parameters of one BlockMLP.
type BlockParams struct {
	First  nn.Dense
	Blocks []Blocks
	Last   nn.Dense
}

// Blocks are the parameters of one block-sparse layer.
type Blocks struct {
	W *graph.Array // f32[out, each*block, block], out in blocks: from the blocks that a block of units reads
	B *graph.Array // f32[out*block]
	// From is i32[out*each]: for each block of units, the blocks that it reads. Only with own masks.
	From *graph.Array `tree:"optional"`
}

// Traits say that it has another form for members with weights of their own.
func (b *BlockMLP) Traits() (t Traits[BlockParams, graph.None]) {
	t.Prepared = FormOf(b.Prepare, b.PrepareShared, Stateless[blocksReady]{}.Start, b.act)
	t.Describe = b.Describe
	return t
}

// Init draws weights from the normal distribution of variance 1/n for units that read n others; biases are zero.
func (b *BlockMLP) Init(key random.Key) BlockParams {
	keys := random.SplitN(key, len(b.layers)+2)
	outputs := b.dense.outputs()
	p := BlockParams{
		First: nn.NewDense(keys[0], b.dense.Sizes[0], b.Hidden[0], nn.Weights(fanIn)),
		Last:  nn.NewDense(keys[1], b.Hidden[len(b.Hidden)-1], outputs, nn.Weights(fanIn)),
	}
	for i, l := range b.layers {
		// drawn as one matrix, so that the fan-in is the number of inputs that a unit reads
		w := fanIn(keys[2+i], graph.ShapeOf(graph.Float32, l.each*b.Block, l.out*b.Block))
		w = w.Reshape(l.each*b.Block, l.out, b.Block).Transpose(1, 0, 2)
		blocks := Blocks{W: w, B: graph.Zeros(graph.ShapeOf(graph.Float32, l.out*b.Block))}
		if b.Masks == ownMasks {
			blocks.From = l.drawBlocks(random.FoldIn(keys[2+i], 1))
		}
		p.Blocks = append(p.Blocks, blocks)
	}
	return p
}

// drawBlocks draws the blocks that each block of units reads, i32[out*each]: without repetition, in order.
func (l blockLayer) drawBlocks(key random.Key) *graph.Array {
	order := graph.ArgSort(random.Uniform(key, graph.ShapeOf(graph.Float32, l.out, l.in), 0, 1), 1)
	return graph.Flatten1D(graph.Sort(graph.SliceAxis(order, 1, 0, l.each).Convert(graph.Int32), 1))
}

// blocksReady holds the parameters of one BlockMLP as Prepare lays them out.
type blocksReady struct {
	First  Layer
	Blocks []Blocks
	Last   Layer
}

// Prepare transposes a narrow last layer. Blocks are not padded: they are slower unless their size is a multiple of the
// 16 numbers of a vector register.
func (b *BlockMLP) Prepare(p BlockParams) blocksReady { return b.prepare(laying{}, p) }

// PrepareShared leaves the dense layers as they are. Blocks are each member's own.
func (b *BlockMLP) PrepareShared(s Shared) blocksReady {
	return b.prepare(layingOf(s), s.Params.(BlockParams))
}

func (b *BlockMLP) prepare(lay laying, p BlockParams) blocksReady {
	return blocksReady{lay.layer(p.First), p.Blocks, lay.last(p.Last, 0)}
}

// Act maps one observation to the outputs.
func (b *BlockMLP) Act(p BlockParams, none graph.None, observation *graph.Array, key random.Key) (graph.None, Output) {
	return b.act(blocksReady{laying{}.layer(p.First), p.Blocks, laying{}.layer(p.Last)}, none, observation, key)
}

func (b *BlockMLP) act(p blocksReady, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	activation := b.dense.Activation
	x := activation.Apply(p.First.Apply(Flat(b.dense.observation, observation)))
	for i, l := range b.layers {
		from := p.Blocks[i].From
		if from == nil {
			from = graph.Int32s(l.from)
		}
		read := graph.Take(x.Reshape(l.in, b.Block), from, 0)
		read = read.Reshape(l.out, l.each*b.Block)
		y := graph.DotGeneral(read, p.Blocks[i].W, []int{0}, []int{0}, []int{1}, []int{1})
		x = activation.Apply(y.Reshape(l.out * b.Block).Add(p.Blocks[i].B))
	}
	return none, Output{Action: p.Last.Apply(x)}
}
