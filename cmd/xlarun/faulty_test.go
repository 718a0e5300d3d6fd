package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"xlarun/cmd/xlarun/cli"
	_ "xlarun/cmd/xlarun/testdata/faulty" // a policy, a strategy and a kind of run
)

// mistaken is a run of evolve in which a part makes a mistake.
var mistaken = strings.Fields("evolve CartPole-v1 --pop 8 --steps 5 --generations 1 --out none --backend reference")

// A nil that a method of a strategy returns is reported with the line of the method. Some nils were panics inside of
// xlarun, others errors that named no line of the user.
func TestNilsOfStrategiesNameTheMethod(t *testing.T) {
	for _, method := range []string{"Traits", "Init", "Sample", "Member", "Tell", "Mean"} {
		want := "got nil, want a tree of arrays"
		if method == "Traits" {
			want = "got a GroupSize of -1, want 1 or more"
		}
		text := fails(t, cli.StatusFailed, append(mistaken, "--strategy=faulty", "--fault", method+": nil")...)
		assert.Regexp(t, `^xlarun evolve: strategy\.go:\d+: the strategy's `+method+`: `+want+`\n$`, text)
	}
}

// TestTreesOfStrategiesNameTheMethod: a tree of another structure was an error in xlarun's own code, or a
// panic in the user's policy. The field that differs is named: "got a state of 7 leaves, want a state of 8" is not
// enough.
func TestTreesOfStrategiesNameTheMethod(t *testing.T) {
	for method, want := range map[string]string{
		"Member": `got a \*graph\.Array of 1 leaf, want a .* of \d+ leaves, as the genome that Init gets`,
		"Mean":   `got a graph\.None of 0 leaves, want a .* of \d+ leaves, as the genome that Init gets`,
		"Tell":   `got a \[\]interface \{\} of \d+ leaves, want a .* of \d+ leaves, as the state that it gets`,
	} {
		text := fails(t, cli.StatusFailed, append(mistaken, "--strategy=faulty", "--fault", method+": tree")...)
		assert.Regexp(t, `^xlarun evolve: strategy\.go:\d+: the strategy's `+method+`: `+want+`\n$`, text)
	}
	for fault, want := range map[string]string{
		"a field that grows": `got a faulty\.state of another structure, want one as the state that it gets: ` +
			`\.Past\[0\] only in the result`,
		"a field of another dtype": `got i32\[\] at \.Count, want f32\[\], as the state that it gets: convert or ` +
			`reshape it`,
	} {
		text := fails(t, cli.StatusFailed, append(mistaken, "--strategy=faulty", "--fault", "Tell: "+fault)...)
		assert.Regexp(t, `^xlarun evolve: strategy\.go:\d+: the strategy's Tell: `+want+`\n$`, text)
	}
}

// TestResultsOfPoliciesNameTheMethod: a method of a policy that returns nil, or an output that cannot be
// used, is reported with its line. Some were panics inside of xlarun, and a nil of Start was accepted by evolve.
func TestResultsOfPoliciesNameTheMethod(t *testing.T) {
	for fault, want := range map[string]string{
		"Make: nil":       "Make: got nil, want a policy",
		"Init: nil":       "Init: got nil, want a tree of arrays, graph.None{} for an empty one",
		"Init: nil array": "Init: leaf .W is a nil *Array: fill it before use",
		"Start: nil":      "Start: got nil, want a tree of arrays, graph.None{} for an empty one",
		"Act: nil":        "Act: got nil, want a tree of arrays, graph.None{} for an empty one",
		"Act: no output":  "Act: got an Output without an Action, want f32[2]",
		"Act: narrow":     "Act: got the Action f32[1], want f32[2]",
		"Act: carry": "Act: the carry that it gets and the carry that it returns differ in structure: " +
			"value only in the carry that it returns",
		// Integers were taken by evolve, and refused by ppo in its own code.
		"Act: integers": "Act: got the Action i32[2], want f32[2]",
		// Both kinds named a loop of their own.
		"Act: carry of another dtype": "Act: the carry[1] goes in as f32[3] and comes out as i32[3], want the same: " +
			"convert or reshape it, or let Start return it so",
		"Act: carry of another shape": "Act: the carry[0] goes in as f32[] and comes out as f32[1], want the same: " +
			"convert or reshape it, or let Start return it so",
	} {
		for _, kind := range []string{"evolve", "ppo"} {
			text := fails(t, cli.StatusFailed, kind, "CartPole-v1", "--out", "none", "--backend", "reference",
				"--policy", "faulty", "--policy.fault", fault)
			line := `^xlarun ` + kind + `: policy\.go:\d+: the policy's ` + regexp.QuoteMeta(want) + `\n$`
			assert.Regexp(t, line, text)
		}
	}
}

// A panic in a method of a policy, a strategy or a kind of run is one line with the file and the line, and status 1. It
// ended the program with a stack of many lines and status 2.
func TestPanicsOfPartsAreOneLine(t *testing.T) {
	for _, c := range []struct {
		args    []string
		methods []string
	}{
		{append(mistaken, "--policy", "faulty", "--policy.fault"), []string{"Make", "Init", "Start", "Act"}},
		{append(mistaken, "--strategy", "faulty", "--strategy.fault"), []string{"Traits", "Init", "Sample", "Member",
			"Tell", "Mean"}},
		{[]string{"faulty", "--out", "none", "--backend", "reference", "--fault"}, []string{"Board", "Start", "round",
			"Step"}},
	} {
		for _, method := range c.methods {
			for mistake, want := range map[string]string{"index": "panic: runtime error: index out of range",
				"nil argument": "add: got a nil *Array"} {
				text := fails(t, cli.StatusFailed, append(c.args, method+": "+mistake)...)
				assert.Equal(t, 1, strings.Count(text, "\n"), text)
				assert.Regexp(t, `: faulty\.go:\d+: `, text, "%v %s", c.args, method)
				assert.Contains(t, text, want)
			}
		}
	}
}
