package graph

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type counted struct {
	X *Array
	N float64
}

type hidden struct {
	X *Array
	n int
}

// nested has a type that holds itself, and a lock, which is no value.
type nested struct {
	X    *Array
	kids []node
	lock sync.Mutex
}

type node struct {
	name string
	kids []node
}

// A Go value in a tree keeps what it is when a function is traced. Where a function returns another one, the functions
// that would lose it say which.
func TestStaticValuesMayNotChange(t *testing.T) {
	grow := func(c counted) counted { return counted{c.X.Add(1), c.N + 1} }
	start := counted{Scalar(0), 0}
	// Inside of a trace, a choice is part of the program.
	traced := func(f func(x *Array)) func() {
		return func() {
			_, err := Trace("f", func(x *Array) None { f(x); return None{} }, Abstract(ShapeOf(Float32)))
			if err != nil {
				panic(err)
			}
		}
	}
	for name, f := range map[string]func(){
		"Scan": func() {
			Scan(func(c counted, _ None) (counted, None) { return grow(c), None{} }, start, None{}, Length(3))
		},
		"While":    func() { While(func(c counted) *Array { return c.X.Lt(3) }, grow, start) },
		"ForiLoop": func() { ForiLoop(0, 3, func(_ *Array, c counted) counted { return grow(c) }, start) },
		"Cond": traced(func(x *Array) {
			Cond(x.Gt(0), func() counted { return grow(start) }, func() counted { return start })
		}),
		"Switch": traced(func(x *Array) {
			Switch(x.Convert(Int32), func() counted { return start }, func() counted { return grow(start) })
		}),
		"MapTree2": func() { MapTree2(func(a, b *Array) *Array { return a.Add(b) }, start, grow(start)) },
	} {
		t.Run(name, func(t *testing.T) {
			err := Try(f)
			require.ErrorContains(t, err, ".N is ")
			require.ErrorContains(t, err, "make it an array, as graph.Scalar does")
		})
	}
	err := Try(func() {
		Scan(func(c hidden, _ None) (hidden, None) {
			return hidden{c.X, c.n + 1}, None{}
		}, hidden{Scalar(0), 5}, None{}, Length(3))
	})
	require.ErrorContains(t, err, ".n is 5 in the initial carry and 6 in the carry that the body returns")
	type K struct{ K int }
	type pointer struct {
		X *Array
		K *K
		L []int
	}
	err = Try(func() {
		Scan(func(c pointer, _ None) (pointer, None) {
			c.K = &K{c.K.K + 1}
			return c, None{}
		}, pointer{Scalar(0), &K{5}, nil}, None{}, Length(3))
	})
	require.ErrorContains(t, err, ".K is &graph.K{K:5} in the initial carry and &graph.K{K:6} in the carry")
	for name, change := range map[string]func(c pointer){
		"a pointer": func(c pointer) { c.K.K++ },
		"a slice":   func(c pointer) { c.L[0]++ },
	} {
		err = Try(func() {
			Scan(func(c pointer, _ None) (pointer, None) {
				change(c)
				return c, None{}
			}, pointer{Scalar(0), &K{5}, []int{1}}, None{}, Length(3))
		})
		require.ErrorContains(t, err, "a Go value was changed in place", name)
	}
	x := Scalar(0)
	locked := &nested{X: x, kids: []node{{"a", nil}}}
	_, before := Flatten(locked)
	locked.lock.Lock()
	_, after := Flatten(locked)
	require.Equal(t, before.Key(), after.Key())
	for _, c := range []struct {
		a, b any
		want string
	}{
		{map[string]any{"n": 1, "x": x}, map[string]any{"n": 1, "k": 2, "x": x}, `["k"] only in the other`},
		{struct{ Names []string }{[]string{"a b"}}, struct{ Names []string }{[]string{"a", "b"}}, `.Names is []string`},
		{struct {
			X    *Array
			N, M int
		}{x, 1, 2}, struct {
			X    *Array
			M, N int
		}{x, 3, 1}, ".M is 2 in the first and 3 in the other"},
		{[]any{x, "a"}, []any{x, 1}, `[1] is "a" in the first and 1 in the other`},
		{[]any{x, "a"}, []any{x, "a"}, ""},
	} {
		_, a := Flatten(c.a)
		_, b := Flatten(c.b)
		require.Contains(t, a.Difference("first", b, "other"), c.want)
		require.Equal(t, c.want == "", a.Key() == b.Key())
	}
	_, one := Flatten(hidden{Scalar(0), 1})
	_, two := Flatten(hidden{Scalar(0), 2})
	require.NotEqual(t, one.Key(), two.Key(), "a program is traced for each value")
}
