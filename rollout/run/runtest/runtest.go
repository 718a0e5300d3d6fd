// Package runtest has what the tests of kinds of run share.
package runtest

import (
	"maps"
	"slices"
	"testing"

	"xlarun/graph"
	"xlarun/rollout/run"
)

// Steps takes n steps of a run and returns their metrics.
func Steps(t testing.TB, r run.Run, n int) (all []run.Metrics) {
	t.Helper()
	for range n {
		m, err := r.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// Number returns a metric that must be there.
func Number(t testing.TB, m run.Metrics, name string) float64 {
	t.Helper()
	x, ok := m.Get(name)
	if !ok {
		t.Fatalf("there is no metric %s", name)
	}
	return x
}

// Snapshot returns a run's state.
func Snapshot(t testing.TB, r run.Run) run.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Bytes returns the shape and the bytes of each array of a state.
func Bytes(t testing.TB, s run.Snapshot) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, a := range s.Arrays {
		b, err := graph.HostBytes(a)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = a.Shape().String() + string(b)
	}
	return all
}

// SameBytes fails the test unless two states are equal.
func SameBytes(t testing.TB, want, got map[string]string, what string) {
	t.Helper()
	if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); len(w) == 0 || !slices.Equal(w, g) {
		t.Fatalf("%s: got the arrays %v, want %v", what, g, w)
	}
	for name := range want {
		if want[name] != got[name] {
			t.Fatalf("%s: %s differs", what, name)
		}
	}
}
