package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// In a loop whose constants are cut, a slice of a concatenation, or of its sum with another array, takes what
// lies there, whatever lengths are concatenated. Only a stack, whose parts have length 1, goes away.
func TestPartsOfStacks(t *testing.T) {
	for _, c := range []struct {
		lengths []int
		stack   bool
	}{
		{[]int{1, 1, 1}, true},
		{[]int{0, 1, 2}, false}, // as many arrays as elements
		{[]int{2, 0, 1}, false},
		{[]int{1, 1, 0}, false},
	} {
		var shapes []Shape
		var in []*Tensor
		for i, length := range append(c.lengths, c.lengths[0]+c.lengths[1]+c.lengths[2]) {
			shapes = append(shapes, ShapeOf(Float32, 4, length))
			x := newTensor(shapes[i])
			for k := range x.V {
				x.SetF(k, float64(10*i+k+1))
			}
			in = append(in, x)
		}
		g := closedGraph("parts", shapes, func(p []*Array) []*Array {
			whole, last := Concatenate(1, p[:3]...), len(p)-1
			return []*Array{SliceAxis(whole, 1, 1, 2), SliceAxis(whole.Add(p[last]), 1, 1, 2)}
		})
		want, err := Interpret(g, in, nil)
		require.NoError(t, err)
		l := &Cursor{target: TargetTPU, program: g, rule: func(o *Op) LoweringRule { return o.Lower },
			done: map[*Node]bool{}}
		l.rows = map[cutKey][]*Array{}
		lowered := l.graph(g).Simplify()
		require.Equal(t, !c.stack, lowered.Uses("concatenate"), "%v", c.lengths)
		got, err := Interpret(lowered, in, nil)
		require.NoError(t, err)
		for i := range want {
			require.Equal(t, want[i].V, got[i].V, "%v", c.lengths)
		}
	}
}
