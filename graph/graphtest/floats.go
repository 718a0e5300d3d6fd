package graphtest

import (
	"fmt"
	"math"
	"testing"

	"xlarun/graph"
)

// Floats returns the numbers of an array, or of all arrays of a tree one after another.
func Floats(t testing.TB, tree any) []float64 {
	t.Helper()
	all := []float64{}
	for _, a := range graph.Leaves(tree) {
		numbers, err := graph.Floats(a)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, numbers...)
	}
	return all
}

// Near fails the test unless every number is within tolerance of the one that is wanted: relative above 1, absolute
// below it. Equal infinities are near.
func Near(t testing.TB, want, got []float64, tolerance float64, msg ...any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d numbers, want %d: %s", len(got), len(want), fmt.Sprint(msg...))
	}
	for i, x := range want {
		if math.IsNaN(x) && math.IsNaN(got[i]) {
			continue
		}
		if x != got[i] && !(math.Abs(x-got[i]) <= tolerance*max(1, math.Abs(x))) {
			t.Fatalf("element %d is %v, want %v: %s", i, got[i], x, fmt.Sprint(msg...))
		}
	}
}
