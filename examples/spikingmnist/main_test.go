package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
)

// A short training on a part of real MNIST: the loss falls and members tell most pictures right, each otherwise than
// the other, as their orders and draws are their own. XLARUN_LONG=1: the other code, too, and on
// all of it to 95 % in the mean, one net and a population of 64.
func TestLearns(t *testing.T) {
	for i, c := range []struct {
		what  string
		o     options
		least float64
		long  bool
	}{
		{"latency code, two members", options{members: 2, hidden: 32, steps: 6, epochs: 3, batch: 50, rate: 5e-3,
			code: "latency", train: 3000, test: 1000}, .75, false},
		{"rate code", options{members: 1, hidden: 32, steps: 6, epochs: 2, batch: 50, rate: 5e-3, code: "rate",
			train: 3000, test: 1000}, .7, true},
		{"all of MNIST", options{members: 1, hidden: 128, steps: 10, epochs: 4, batch: 100, rate: 3e-3, code: "latency",
			train: 60000, test: 10000}, .95, true},
		{"a population of 64", options{members: 64, hidden: 64, steps: 10, epochs: 2, batch: 100, rate: 3e-3,
			code: "latency", train: 60000, test: 10000}, .93, true},
	} {
		if c.long && !long.All() {
			continue
		}
		r, err := c.o.run(t.Context(), io.Discard)
		require.NoError(t, err, "%d: %s", i+1, c.what)
		require.Less(t, r.losses[len(r.losses)-1], .7*r.losses[0], "%d: %s: losses %v", i+1, c.what, r.losses)
		for _, a := range r.accuracy {
			require.Greater(t, a, c.least, "%d: %s", i+1, c.what)
		}
		if c.o.train == 60000 {
			require.Greater(t, mean(r.accuracy), .95, "%d: %s", i+1, c.what)
		}
		if c.o.members == 2 {
			require.NotEqual(t, r.accuracy[0], r.accuracy[1], "members must differ")
		}
	}
}

func TestBadOptions(t *testing.T) {
	good := options{members: 1, hidden: 4, steps: 2, epochs: 1, batch: 10, rate: 1, code: "rate", train: 100, test: 100}
	require.NoError(t, good.check())
	for i, c := range []struct {
		change func(o *options)
		want   string
	}{
		{func(o *options) { o.members = 0 }, "-members got 0"},
		{func(o *options) { o.steps = -1 }, "-steps got -1"},
		{func(o *options) { o.batch = 101 }, "-batch got 101, wants a whole number from 1 to 100"},
		{func(o *options) { o.code = "morse" }, `-code got "morse", wants latency or rate`},
		{func(o *options) { o.rate = 0 }, "-rate got 0"},
	} {
		o := good
		c.change(&o)
		_, err := o.run(t.Context(), io.Discard)
		require.ErrorContains(t, err, c.want, "%d", i+1)
	}
}
