package random_test

import (
	"errors"
	"fmt"
	"testing"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// Each member draws with its own key; the function is written for one of them.
func Example() {
	keys := random.Split(random.New(42), 3)
	dice := graph.VMap(func(key random.Key) *graph.Array {
		return random.Randint(key, graph.ShapeOf(graph.Int32, 4), 1, 7)
	})
	fmt.Println(dice(keys))
	// Output: i32[3,4] {5 4 6 6 6 3 5 3 2 4 2 1}
}

// A population's noise: 4096 members of 1154 parameters, on one core.
func BenchmarkNormal(b *testing.B) {
	client, err := xlabridge.Open(b.Context(), xlabridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	run := xlabridge.Jit(client, func(k random.Key) *graph.Array { return random.Normal(k, f32(4096, 1154)) })
	b.SetBytes(4096 * 1154 * 4)
	for b.Loop() {
		out, err := run(random.New(1))
		if err != nil {
			b.Fatal(err)
		}
		xlabridge.Free(out)
	}
}

// Both draws are from one key, so they are the same numbers.
func ExampleCheckKeys() {
	dice := func(key random.Key) *graph.Array { return random.Randint(key, graph.ShapeOf(graph.Int32, 4), 1, 7) }
	err := random.CheckKeys(func() {
		key := random.New(42)
		mine := dice(key)
		yours := dice(key)
		fmt.Println(mine, yours)
	})
	var reuse *random.KeyReuseError
	if errors.As(err, &reuse) {
		fmt.Println(reuse.First)
		fmt.Println(reuse.Second)
	}
	// Output:
	// i32[4] {1 1 4 2} i32[4] {1 1 4 2}
	// {random.Randint example_test.go:43, called at example_test.go:46}
	// {random.Randint example_test.go:43, called at example_test.go:47}
}

// A key is used once. Split2 makes two of it, FoldIn one for a number, such as that of a generation.
func ExampleSplit2() {
	first, rest := random.Split2(random.New(42))
	fmt.Println(random.Bernoulli(first, .5), random.Bernoulli(random.FoldIn(rest, 1), .5))
	// Output: bool[] false bool[] true
}
