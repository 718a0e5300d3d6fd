package envs

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
)

// MultiDiscrete is several choices at once: i32[k] with element i in 0 … N[i]-1.
type MultiDiscrete struct{ N []int }

// Shape is i32[k].
func (m MultiDiscrete) Shape() graph.Shape { return graph.ShapeOf(graph.Int32, len(m.N)) }

// Contains reports whether every element is in its range.
func (m MultiDiscrete) Contains(x *graph.Array) *graph.Array {
	return x.Ge(0).And(x.Lt(m.counts())).All()
}

// Sample draws every element uniformly.
func (m MultiDiscrete) Sample(key random.Key) *graph.Array {
	return random.Randint(key, m.Shape(), 0, m.counts())
}

func (m MultiDiscrete) counts() *graph.Array {
	n := make([]int32, len(m.N))
	for i, x := range m.N {
		n[i] = int32(x)
	}
	return graph.Int32s(n)
}

// FlatDim is the sum of N.
func (m MultiDiscrete) FlatDim() (n int) {
	for _, x := range m.N {
		n += x
	}
	return n
}

// String is "MultiDiscrete([3 2])".
func (m MultiDiscrete) String() string { return fmt.Sprintf("MultiDiscrete(%v)", m.N) }
