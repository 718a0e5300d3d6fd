package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

func init() {
	MustRegister("transformer", &TransformerSettings{Size: []int{64, 2}, Heads: 4, Memory: 64})
}

// TransformerSettings are the settings of the policy "transformer".
type TransformerSettings struct {
	Size   []int `set:"size" args:"" min:"1" max:"16777216" wants:"the width and the number of blocks, whole numbers from 1 to 16777216 between commas" help:"width and number of blocks"`
	Heads  int   `set:"heads" min:"1" max:"16777216" help:"heads of each block, which divide the width"`
	Memory int   `set:"memory" min:"1" max:"16777216" help:"steps that an attention sees, the present one included"`
}

// Make makes the policy.
func (s *TransformerSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	if len(s.Size) != 2 {
		return nil, wrong("other than two sizes", "the width and the number of blocks, as in transformer:64,2")
	}
	if s.Size[0]%(2*s.Heads) != 0 {
		return nil, wrong("a width that the heads do not divide", "a multiple of %d, twice the heads", 2*s.Heads)
	}
	in, err := FlatSize(observation)
	return Erase(&transformer{observation, in, s.Size[0], s.Size[1], s.Heads, s.Memory, outputs}), err
}

// TransformerBlock is one block of a Transformer: attention and a perceptron of one hidden layer, each of normalized
// inputs and added to them (Xiong et al., "On layer normalization in the transformer architecture", 2020).
type TransformerBlock struct {
	Seen      nn.LayerNorm
	Attention nn.MultiHeadAttention
	Mixed     nn.LayerNorm
	Up, Down  nn.Dense // four times as wide between them
}

// Transformer holds the parameters of the policy "transformer".
type Transformer struct {
	In     nn.Dense
	Blocks []TransformerBlock
	Norm   nn.LayerNorm
	Out    nn.Dense
}

// transformer is a causal transformer over the last steps: attention with rotary positions sees the present step and
// those in its memory (nn.MultiHeadAttention.Step). Discrete observations are one-hot inputs, boxes are flattened.
// The carry is a memory of each block.
type transformer struct {
	observation                                   envs.Space
	inputs, width, blocks, heads, memory, outputs int
}

// Traits say that it can be described.
func (t *transformer) Traits() (traits Traits[Transformer, []nn.AttentionCache]) {
	traits.Describe = t.Describe
	return traits
}

// Init draws weights from the normal distribution of variance 1/in; biases are zero.
func (t *transformer) Init(key random.Key) Transformer {
	keys := random.SplitN(key, 2+3*t.blocks)
	dense := func(k random.Key, in, out int) nn.Dense { return nn.NewDense(k, in, out) }
	p := Transformer{In: dense(keys[0], t.inputs, t.width), Norm: nn.NewLayerNorm(t.width),
		Out: dense(keys[1], t.width, t.outputs)}
	for i := range t.blocks {
		k := keys[2+3*i:]
		p.Blocks = append(p.Blocks, TransformerBlock{nn.NewLayerNorm(t.width),
			nn.NewMultiHeadAttention(k[0], t.heads, t.width), nn.NewLayerNorm(t.width), dense(k[1], t.width, 4*t.width),
			dense(k[2], 4*t.width, t.width)})
	}
	return p
}

// Start returns empty memories.
func (t *transformer) Start(p Transformer) []nn.AttentionCache {
	caches := make([]nn.AttentionCache, t.blocks)
	for i, b := range p.Blocks {
		caches[i] = b.Attention.Cache(t.memory)
	}
	return caches
}

// Act takes the observation into the memories and computes outputs from what they hold.
func (t *transformer) Act(p Transformer, caches []nn.AttentionCache, observation *graph.Array,
	_ random.Key) ([]nn.AttentionCache, Output) {
	next := make([]nn.AttentionCache, len(p.Blocks))
	x := p.In.Apply(fitting(Flat(t.observation, observation), p))
	for i, b := range p.Blocks {
		var y *graph.Array
		next[i], y = b.Attention.Step(caches[i], b.Seen.Apply(x))
		x = x.Add(y)
		x = x.Add(b.Down.Apply(nn.GeluTanh(b.Up.Apply(b.Mixed.Apply(x)))))
	}
	return next, Output{Action: p.Out.Apply(p.Norm.Apply(x))}
}

// Describe returns the heads of each attention and the steps that it sees.
func (t *transformer) Describe(Transformer) (map[string]any, error) {
	return map[string]any{"heads": t.heads, "memory": t.memory}, nil
}
