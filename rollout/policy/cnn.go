package policy

import (
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("cnn", &CNNSettings{Channels: []int{16}, Kernel: 3, Stride: 1, Padding: "valid", Hidden: []int{32},
		Between: Between{Activation: "relu"}})
}

// CNNSettings are the settings of the policy "cnn": "cnn:8,16" is cnn with --policy.channels 8,16.
type CNNSettings struct {
	Channels []int  `set:"channels" args:"" min:"1" max:"4096" wants:"the convolutions' channels, whole numbers from 1 to 4096 between commas" help:"output channels of each convolution"`
	Kernel   int    `set:"kernel" min:"1" max:"64" help:"height and width of the kernels"`
	Stride   int    `set:"stride" min:"1" max:"64" help:"stride of the convolutions, both ways"`
	Padding  string `set:"padding" oneof:"valid,same" help:"zeros around the input of a convolution: none (valid), or as many as keep its size at stride 1 (same)"`
	Hidden   []int  `set:"hidden" min:"1" max:"16777216" wants:"the hidden layers' sizes, whole numbers from 1 to 16777216 between commas" help:"sizes of the hidden layers"`
	Between
}

// IsImage reports whether observations have the three axes of an image: height, width and channels.
func IsImage(observation envs.Space) bool {
	box, ok := observation.(envs.Box)
	return ok && box.Shape().Rank() == 3
}

// Make makes a CNN. It refuses observations without three axes, and images that are smaller than a kernel.
func (s *CNNSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	image := observation.Shape()
	if !IsImage(observation) {
		return nil, settings.Wrong("policy", "cnn", "observations of three axes, height, width and channels, not of "+
			"shape %v: mlp takes these", image.Dims)
	}
	if len(s.Channels) == 0 {
		return nil, settings.Wrong("policy.channels", "", "a convolution at least; mlp has none")
	}
	box := observation.(envs.Box)
	size := slices.Clone(image.Dims)
	if box.ChannelsFirst {
		size = []int{size[1], size[2], size[0]}
	}
	c := &CNN{CNNSettings: *s, channelsFirst: box.ChannelsFirst, sizes: [][]int{size}}
	for i, channels := range s.Channels {
		if s.same() {
			size = []int{(size[0]-1)/s.Stride + 1, (size[1]-1)/s.Stride + 1, channels}
		} else if min(size[0], size[1]) < s.Kernel {
			return nil, settings.Wrong("policy.kernel", s.Kernel, "a kernel that fits into what convolution %d sees, "+
				"%d x %d; or --policy.padding same", i+1, size[0], size[1])
		} else {
			size = []int{(size[0]-s.Kernel)/s.Stride + 1, (size[1]-s.Kernel)/s.Stride + 1, channels}
		}
		c.sizes = append(c.sizes, size)
	}
	flat := envs.Box{Low: []float64{-envs.Unbounded}, High: []float64{envs.Unbounded}, Dims: []int{
		size[0] * size[1] * size[2]}, DType: graph.Float32}
	var err error
	if c.dense, err = NewMLP(s.Hidden, nn.Activation(s.Activation), flat, outputs); err != nil {
		return nil, err
	}
	return Erase(c), nil
}

func (s *CNNSettings) same() bool { return s.Padding == "same" }

// CNN is a convolutional network: convolutions, each followed by the activation, then an MLP of their flattened output,
// channels last. Observations are [height, width, channels], or [channels, height, width] if their Box says so, of any
// dtype.
type CNN struct {
	Stateless[CNNParams]
	CNNSettings
	channelsFirst bool
	sizes         [][]int // height, width and channels of each convolution's input; the last are the MLP's
	dense         *MLP
}

// CNNParams are the parameters of one CNN.
type CNNParams struct {
	Convs []nn.Conv
	Dense Params
}

// Traits say that it has another form for members with weights of their own.
func (c *CNN) Traits() (t Traits[CNNParams, graph.None]) {
	t.Prepared = FormOf(c.Prepare, c.PrepareShared, Stateless[cnnPrepared]{}.Start, c.actPrepared)
	t.Describe = c.Describe
	return t
}

// Init draws weights from the normal distribution of variance 1/in, where in counts the numbers in a window. Biases are
// zero.
func (c *CNN) Init(key random.Key) (p CNNParams) {
	keys := random.SplitN(key, len(c.Channels)+1)
	options := []nn.Option{nn.Strides(c.Stride, c.Stride), nn.Weights(fanIn)}
	if !c.same() {
		options = append(options, nn.Valid())
	}
	for i, k := range keys[1:] {
		p.Convs = append(p.Convs, nn.NewConv(k, []int{c.Kernel, c.Kernel}, c.sizes[i][2], c.Channels[i], options...))
	}
	p.Dense = c.dense.Init(keys[0])
	return p
}

// Describe returns the stride and the activation, and the padding and the order of the axes unless they are the
// default.
func (c *CNN) Describe(CNNParams) (map[string]any, error) {
	d := map[string]any{"stride": c.Stride, "activation": c.Activation}
	if c.same() {
		d["padding"] = c.Padding
	}
	if c.channelsFirst {
		d["channels_first"] = true
	}
	return d, nil
}

// cnnPrepared holds the parameters of one CNN as Prepare lays them out.
type cnnPrepared struct {
	Convs []nn.Dense // W is f32[out, kernel*kernel*in], B f32[out, 1]
	Dense Prepared
}

// Prepare turns convolutions into matrix products with the channels first, and lays the dense layers out as MLP.Prepare
// does.
//
// If every member has its own weights, a convolution under VMap is a grouped one, for which XLA on CPU has no fast
// path. A product of the weights with all windows takes less than half of its time.
func (c *CNN) Prepare(p CNNParams) cnnPrepared { return c.prepare(laying{}, p) }

// PrepareShared is Prepare. Kernels of convolutions are each member's own.
func (c *CNN) PrepareShared(s Shared) cnnPrepared {
	return c.prepare(layingOf(s), s.Params.(CNNParams))
}

func (c *CNN) prepare(lay laying, p CNNParams) (out cnnPrepared) {
	for i, l := range p.Convs {
		w := l.W.Reshape(-1, c.Channels[i]).Transpose(1, 0)
		out.Convs = append(out.Convs, nn.Dense{W: w, B: l.B.Reshape(-1, 1)})
	}
	first := p.Dense.Layers[0] // its inputs have the channels first
	last := c.sizes[len(c.Channels)]
	w := lay.ordered(first.W, func(rows *graph.Array) *graph.Array {
		reordered := rows.Reshape(last[0]*last[1], last[2], -1).Transpose(1, 0, 2)
		return reordered.Reshape(rows.Dims()...)
	})
	layers := append([]nn.Dense{{W: w, B: first.B}}, p.Dense.Layers[1:]...)
	out.Dense = c.dense.prepare(lay, Params{Layers: layers})
	return out
}

func (c *CNN) actPrepared(p cnnPrepared, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	x := fitting(observation.Convert(graph.Float32), p)
	if !c.channelsFirst {
		x = x.Transpose(2, 0, 1)
	}
	// Values are computed once in the shape in which they are made, and then reshaped. XLA would fuse a reshape with
	// what is before and after it, and compute an index for each number.
	for i, l := range p.Convs {
		y := l.W.Dot(c.windows(i, x)).Add(l.B)
		to := c.sizes[i+1]
		x = graph.Once(c.dense.Activation.Apply(y)).Reshape(to[2], to[0], to[1])
	}
	return none, Output{Action: c.dense.applyPrepared(p.Dense, graph.Once(graph.Flatten1D(x)))}
}

// Act maps one observation to the outputs.
func (c *CNN) Act(p CNNParams, none graph.None, observation *graph.Array, _ random.Key) (graph.None, Output) {
	x, activation := fitting(observation.Convert(graph.Float32), p), c.dense.Activation
	if c.channelsFirst {
		x = x.Transpose(1, 2, 0)
	}
	for i, l := range p.Convs {
		if to := c.sizes[i+1]; to[0]*to[1]*c.Kernel*c.Kernel*x.Dim(2) > fewPatches {
			x = activation.Apply(l.Apply(x))
		} else {
			x = activation.Apply(graph.ConvImages(x, l.W, [2]int{c.Stride, c.Stride}, c.edge(i)).Add(l.B))
		}
	}
	return none, Output{Action: c.dense.apply(p.Dense, graph.Flatten1D(x))}
}

// fewPatches is the largest number of elements in all windows of a small image. A run has fewer large images at a time,
// and a convolution of one may keep all cores busy.
const fewPatches = 1 << 16

// edge returns the number of zeros before and after the input of convolution i, along height and width. An odd one
// comes after.
func (c *CNN) edge(i int) (pads [2][2]int) {
	if c.same() {
		for axis := range pads {
			n := max(0, (c.sizes[i+1][axis]-1)*c.Stride+c.Kernel-c.sizes[i][axis])
			pads[axis] = [2]int{n / 2, n - n/2}
		}
	}
	return pads
}

// windows returns all windows of convolution i's input x, [channels, height, width]: f32[kernel*kernel*channels,
// windows].
func (c *CNN) windows(i int, x *graph.Array) *graph.Array {
	to := c.sizes[i+1]
	pads := c.edge(i)
	x = graph.Pad(x, 0., []int{0, pads[0][0], pads[1][0]}, []int{0, pads[0][1], pads[1][1]})
	var rows []*graph.Array
	for dy := range c.Kernel {
		for dx := range c.Kernel {
			high, wide := dy+(to[0]-1)*c.Stride+1, dx+(to[1]-1)*c.Stride+1
			part := graph.StridedSlice(x, []int{0, dy, dx}, []int{x.Dim(0), high, wide}, []int{1, c.Stride, c.Stride})
			rows = append(rows, part)
		}
	}
	return graph.Once(graph.Concatenate(0, rows...)).MergeAxes(1, 2)
}
