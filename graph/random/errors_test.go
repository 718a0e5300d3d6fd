package random_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
)

func TestMistakesAreOneSentence(t *testing.T) {
	key := random.New(1)
	keys := random.Split(key, 5)
	for _, c := range []struct {
		want string
		call func()
	}{
		{"random.Normal: got a batch of keys, u32[5,2], want one key, u32[2]: take one with Key.At, or map over them " +
			"with graph.VMap", func() {
			random.Normal(keys, f32(3))
		}},
		{"random.Normal: got a key without data: make one with random.New", func() {
			random.Normal(random.Key{}, f32(3))
		}},
		{"random.Bits: got a key of f32[2], want u32[2]: make one with random.New", func() {
			random.Bits(random.Key{Data: graph.Zeros(f32(2))}, graph.Uint32)
		}},
		{"random.Bits: got dtype Int32, want uint8, uint16, uint32 or uint64", func() {
			random.Bits(key, graph.Int32, 3)
		}},
		{"random.Bits: axis 1 of [2 -1] has the negative size -1", func() { random.Bits(key, graph.Uint8, 2, -1) }},
		{"random.Split: got n = -1, want 0 or more", func() { random.Split(key, -1) }},
		{"random.SplitN: got n = -1, want 0 or more", func() { random.SplitN(key, -1) }},
		{"random.Key.At: key 5 of a batch of 5; want one from 0 to 4", func() { keys.At(5) }},
		{"random.Key.Len: got one key, want a batch of them, as random.Split makes it", func() { key.Len() }},
		{"random.FoldIn: got data -1, want a number from 0 to 4294967295", func() { random.FoldIn(key, -1) }},
		{"random.FoldIn: got data 4294967296, want a number from 0 to 4294967295", func() {
			random.FoldIn(key, 1<<32)
		}},
		{"random.FoldIn: got data of type float64, want an integer", func() { random.FoldIn(key, .5) }},
		{"random.FoldIn: got data i32[3], want one integer: use graph.VMap for many", func() {
			random.FoldIn(key, graph.Iota(3))
		}},
		{"random.Uniform: got the shape i32[3], want a float type: graph.ShapeOf(graph.Float32, …)", func() {
			random.Uniform(key, i32(3), 0, 1)
		}},
		{"random.Uniform: lo is a string, want a number or a *graph.Array", func() {
			random.Uniform(key, f32(3), "0", 1)
		}},
		{"random.Uniform: hi, a f32[2], does not broadcast to dims [3]", func() {
			random.Uniform(key, f32(3), 0, graph.Ones(f32(2)))
		}},
		{"random.TruncatedNormal: lower, a f32[1,3], does not broadcast to dims [3]", func() {
			random.TruncatedNormal(key, f32(3), graph.Ones(f32(1, 3)), 2)
		}},
		{"random.Randint: got the shape f32[3], want an integer type: graph.ShapeOf(graph.Int32, …), or " +
			"random.Uniform for floats", func() {
			random.Randint(key, f32(3), 0, 1)
		}},
		{"random.Randint: hi is a float64, want an integer: random.Uniform draws floats", func() {
			random.Randint(key, i32(3), 0, 1.5)
		}},
		{"random.Randint: lo is f32[], want integers: random.Uniform draws floats", func() {
			random.Randint(key, i32(3), graph.Scalar(0), 2)
		}},
		{"random.Randint: lo is a *graph.Array, want an integer: random.Uniform draws floats", func() {
			random.Randint(key, i32(3), (*graph.Array)(nil), 2)
		}},
		{"random.Randint: lo, a i32[3], does not broadcast to dims [2]", func() {
			random.Randint(key, i32(2), graph.Iota(3), 2)
		}},
		{"random.Bernoulli: p, a f32[3], does not broadcast to dims [2]", func() {
			random.Bernoulli(key, graph.Ones(f32(3)), 2)
		}},
		{"random.Categorical: axis 1 of logits f32[3], want one of its axes", func() {
			random.Categorical(key, graph.Zeros(f32(3)), 1)
		}},
		{"random.Categorical: got logits f32[0]: there is nothing to draw along axis 0", func() {
			random.Categorical(key, graph.Zeros(f32(0)), 0)
		}},
		{"random.Categorical: got the shape i32[3], want a float type: graph.ShapeOf(graph.Float32, …)", func() {
			random.Categorical(key, graph.Iota(3), 0)
		}},
		{"random.Categorical: the probabilities are the logits: leave Weights out, or give their logarithm as logits",
			func() {
				random.Categorical(key, graph.Zeros(f32(3)), 0, random.Weights(graph.Ones(f32(3))))
			}},
		{"random.Categorical: cannot draw 4 of 3 without replacement: draw at most 3, or leave WithoutReplacement out",
			func() {
				random.Categorical(key, graph.Zeros(f32(3)), 0, random.Draws(2, 2), random.WithoutReplacement())
			}},
		{"random.Choice: got 0 candidates, want at least 1", func() { random.Choice(key, 0) }},
		{"random.Choice: cannot draw 6 of 5 without replacement: draw at most 5, or leave WithoutReplacement out",
			func() {
				random.Choice(key, 5, random.Draws(6), random.WithoutReplacement())
			}},
		{"random.Choice: the weights are f32[4], want one for each of the 5 candidates", func() {
			random.Choice(key, 5, random.Weights(graph.Ones(f32(4))))
		}},
		{"random.Choice: axis 0 of [-2] has the negative size -2", func() { random.Choice(key, 5, random.Draws(-2)) }},
		{"random.ChoiceOf: axis 2 of f32[2,3], want one of its axes", func() { random.ChoiceOf(key, table(), 2) }},
		{"random.Permutation: got n = -1, want 0 or more", func() { random.Permutation(key, -1) }},
		{"random.PermutationOf: axis -3 of f32[2,3], want one of its axes", func() {
			random.PermutationOf(key, table(), -3)
		}},
		{"random.Shuffle: got a nil *graph.Array", func() { random.Shuffle(key, nil, 0) }},
	} {
		err := graph.Try(c.call)
		require.Error(t, err, c.want)
		var e *graph.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.want, e.Op+": "+e.Msg)
		require.Contains(t, e.Where, "errors_test.go:", "the user's line")
	}
}

// The mistakes come out of a trace as its error.
func TestMistakeInTrace(t *testing.T) {
	_, err := graph.Trace("draw", func(keys random.Key) *graph.Array {
		return random.Normal(keys, f32(3))
	}, random.Split(random.New(1), 5))
	require.ErrorContains(t, err, "errors_test.go:")
	require.ErrorContains(t, err, "graph.VMap")
}
