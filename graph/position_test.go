package graph

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// walked has the return addresses of its caller's stack along frame pointers, without those in functions that Go makes
// of go and defer statements, and those that Go prints, as many.
//
//go:noinline
func walked() (walked, printed []uintptr) {
	var at [stackDepth]uintptr
	returnAddresses(&at)
	made := regexp.MustCompile(`(gowrap|deferwrap)\d+$`)
	for _, pc := range at {
		if pc != 0 && !made.MatchString(runtime.FuncForPC(pc-1).Name()) {
			walked = append(walked, pc)
		}
	}
	printed = make([]uintptr, 4*stackDepth)
	printed = printed[:runtime.Callers(2, printed)]
	if at[stackDepth-1] != 0 { // the stack has more
		printed = printed[:len(walked)]
	}
	return walked, printed
}

// deep calls f below n frames, each of a kilobyte.
//
//go:noinline
func deep(n int, f func()) byte {
	var room [1024]byte
	if n > 0 {
		room[n%len(room)] = deep(n-1, f)
	} else {
		f()
	}
	return room[n%7]
}

// The walk along frame pointers finds the addresses that Go prints, on short stacks, on deep ones, on those that were
// moved, in deferred functions and after panics.
func TestReturnAddresses(t *testing.T) {
	switch runtime.GOARCH {
	case "amd64", "arm64":
	default:
		t.Skip("no walk on " + runtime.GOARCH)
	}
	check := func() {
		got, want := walked()
		require.Equal(t, want, got)
	}
	for _, n := range []int{0, 1, 5, 11, 12, 13, 14, 40} {
		deep(n, check)
		done := make(chan []uintptr)
		go func() {
			deep(n, func() {
				got, want := walked()
				done <- want
				done <- got
			})
		}()
		require.Equal(t, <-done, <-done, n)
	}
	done := make(chan struct{})
	go func() { // a small stack, which the frames in between outgrow
		defer close(done)
		deep(3, func() {
			before, _ := walked()
			deep(5000, check)
			runtime.GC() // shrinks the stack
			after, _ := walked()
			require.Equal(t, before[1:], after[1:]) // from the caller of this function on
			check()
		})
	}()
	<-done
	func() {
		defer func() {
			require.Equal(t, "here", recover())
			check()
		}()
		defer check()
		deep(2, func() { panic("here") })
	}()
}

func sum(x *Array) *Array { return x.Add(x) }

func sumOfAny[T any](x *Array, _ T) *Array { return x.Add(x) }

type summed struct{ x *Array }

func (s summed) sum() *Array { return s.x.Add(s.x) }

type outer struct{ summed }

// The position of an op is the user's line, when the stack is searched and when it is remembered: for functions that
// are inlined, generic or made by Go, and for those that a transform or reflect calls.
func TestPositionsAreRemembered(t *testing.T) {
	x := Float32s([]float32{1, 2})
	at := func() int {
		_, _, line, _ := runtime.Caller(1)
		return line
	}
	lines := func(f any) int { // the line of a function of one line
		_, line := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).FileLine(reflect.ValueOf(f).Pointer())
		return line
	}
	var s interface{ sum() *Array } = outer{summed{x}}
	bound := s.sum
	both := func(f func(x *Array) *Array) func() *Array {
		return func() (in *Array) {
			_, err := Trace("f", VMap(func(x *Array) *Array { in = f(x); return in }), x)
			require.NoError(t, err)
			return in
		}
	}
	cases := []struct {
		line int
		make func() *Array
	}{
		{at(), func() *Array { return x.Add(1) }},
		{at(), func() *Array { return Add(x, 1) }},
		{at(), func() *Array { return Add(Sin(x), Cos(x)) }},
		{at(), func() *Array { return Reduction{Axes: []int{0}}.Mean(x) }},
		{lines(sum), func() *Array { return sum(x) }},
		{lines(sumOfAny[int]), func() *Array { return sumOfAny(x, 1) }},
		{lines(sumOfAny[int]), func() *Array { return sumOfAny(x, "") }},
		{lines(summed.sum), func() *Array { return s.sum() }},
		{lines(summed.sum), func() *Array { return bound() }},
		{lines(sum), func() *Array {
			return reflect.ValueOf(sum).Call([]reflect.Value{reflect.ValueOf(x)})[0].Interface().(*Array)
		}},
		{at(), both(func(x *Array) *Array { return Logistic(x) })},
		{lines(sum), both(sum)},
	}
	clear(places.known)
	for round := range 3 {
		size := len(places.known)
		for i, c := range cases {
			y := c.make()
			require.NotNil(t, y.node, i)
			require.Equal(t, fmt.Sprintf("position_test.go:%d", c.line), y.node.Where(), "round %d, %d", round, i)
			require.Contains(t, slices.Collect(maps.Values(places.known)), y.node.pos, i)
		}
		if round > 0 {
			require.Len(t, places.known, size, "all return addresses were seen before")
		}
	}
}

// A user's frame beyond the addresses that are looked up is searched for each time.
func TestPositionsBeyondTheReach(t *testing.T) {
	for n := range stackDepth {
		var tree any = (*Array)(nil) // its walk ends in an error, n levels further in
		for range n {
			tree = []any{tree}
		}
		for range 2 {
			err := Try(func() { Flatten(tree) })
			_, _, line, _ := runtime.Caller(0)
			require.ErrorContains(t, err, fmt.Sprintf("position_test.go:%d", line-1), n)
		}
	}
}

// Constants of a lazy array, and what a transform makes of constants alone, are at the line of the op that they are
// for.
func TestPositionsOfConstants(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	p, err := Trace("f", VMap(func(x *Array) *Array {
		c := Mul(Scalar(2), 3)
		return Add(x, c)
	}), Float32s([]float32{1, 2}))
	require.NoError(t, err)
	places := map[string][]string{}
	for _, n := range p.Traced.Nodes {
		places[n.Op.Name] = append(places[n.Op.Name], n.Where())
	}
	of := func(n int) string { return fmt.Sprintf("position_test.go:%d", line+n) }
	require.Equal(t, map[string][]string{"constant": {of(2), of(2)}, "mul": {of(2)}, "broadcast_in_dim": {of(3)},
		"add": {of(3)}}, places)
}
