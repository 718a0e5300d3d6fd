package nn

import "xlarun/graph"

// Pool reduces windows of the spatial axes: a static Layer.
type Pool struct {
	Kind    string // "max", "avg" or "min"
	Window  []int  // one size a spatial axis
	Strides []int  // nil: the window's sizes, so that windows do not overlap
	Same    bool   // pad so that there are ceil(size/stride) windows; averages are over the elements inside
}

// MaxPool takes the largest element of windows that do not overlap.
func MaxPool(window ...int) Pool { return Pool{Kind: "max", Window: window} }

// AvgPool takes the mean of windows that do not overlap.
func AvgPool(window ...int) Pool { return Pool{Kind: "avg", Window: window} }

// Apply maps x [spatial…, features] to fewer spatial elements.
func (p Pool) Apply(x *graph.Array) *graph.Array {
	strides := p.Strides
	if strides == nil {
		strides = p.Window
	}
	opts := []graph.WindowOption{graph.Strides(strides...)}
	if p.Same {
		opts = append(opts, graph.SamePadding())
	}
	switch p.Kind {
	case "max":
		return graph.MaxPool(x, p.Window, opts...)
	case "min":
		return graph.MinPool(x, p.Window, opts...)
	case "avg":
		return graph.AvgPool(x, p.Window, append(opts, graph.ExcludePadding())...)
	}
	graph.Throw("nn.Pool", "kind %q, want \"max\", \"avg\" or \"min\"", p.Kind)
	return nil
}

// GlobalPool reduces all spatial axes: x [spatial…, features] gives [features].
type GlobalPool struct {
	Kind string // "max", "avg" or "min"
}

// Apply maps x [spatial…, features] to [features].
func (p GlobalPool) Apply(x *graph.Array) *graph.Array {
	if x.Rank() < 2 {
		graph.Throw("nn.GlobalPool", "x is %s, want [spatial…, features]", x.Shape())
	}
	axes := make([]int, x.Rank()-1)
	for i := range axes {
		axes[i] = i
	}
	switch p.Kind {
	case "max":
		return x.ReduceMax(axes...)
	case "min":
		return x.ReduceMin(axes...)
	case "avg":
		return atLeastFloat32(x).Mean(axes...).Convert(floatType(x))
	}
	graph.Throw("nn.GlobalPool", "kind %q, want \"max\", \"avg\" or \"min\"", p.Kind)
	return nil
}

// floatType is x's element type, float32 for integers and bools.
func floatType(x *graph.Array) graph.DType {
	if x.DType().IsFloat() {
		return x.DType()
	}
	return graph.Float32
}
