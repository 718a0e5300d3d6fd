package all_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/random"
)

// counter is an environment whose observation is its state; fault is what it does wrong on purpose.
type counter struct{ fault string }

type counterState struct {
	X, Time *graph.Array
	N       int
}

func (counter) Spec() envs.Spec {
	return envs.Spec{ID: "Counter-v0", Observation: envs.Symmetric(9), Action: envs.Discrete{N: 2}, MaxSteps: 5}
}
func (counter) DefaultParams() graph.None { return graph.None{} }
func (e counter) Reset(_ random.Key, p graph.None) (counterState, *graph.Array) {
	s := counterState{X: graph.Scalar(0), Time: graph.Of(int32(0))}
	return s, e.Observe(s, p)
}
func (e counter) Step(_ random.Key, s counterState, _ *graph.Array,
	p graph.None) (next counterState, obs, reward, terminated, truncated *graph.Array) {
	next, reward = counterState{X: s.X.Add(1), Time: s.Time.Add(1)}, graph.Scalar(1)
	switch e.fault {
	case "index":
		var table []float64
		reward = graph.Scalar(table[len(e.fault)])
	case "nil argument":
		reward = reward.Add((*graph.Array)(nil))
	case "nil observation":
		return next, nil, reward, envs.False(), envs.False()
	case "nil state":
		return counterState{}, e.Observe(s, p), reward, envs.False(), envs.False()
	case "old observation":
		return next, e.Observe(s, p), reward, envs.False(), envs.False()
	case "vector reward":
		reward = reward.Reshape(1)
	case "float time":
		next.Time = next.Time.Convert(graph.Float32)
	case "no time":
		next.Time = nil
	case "Go value":
		next.N = s.N + 1
	case "NaN":
		next.X = graph.Scalar(0).Div(graph.Scalar(0))
	}
	return next, e.Observe(next, p), reward, envs.False(), envs.False()
}
func (counter) Observe(s counterState, _ graph.None) *graph.Array { return s.X.Reshape(1) }

// Faults that stop a run or make its results wrong are reported with the line of the environment. A panic of a user's
// environment ended the program with a stack of 60 lines, and a stale observation trained without a word.
func TestFirst(t *testing.T) {
	for number, c := range []struct{ fault, want string }{
		{"", ""},
		{"index", "panic: runtime error: index out of range [5] with length 0"},
		{"nil argument", "add: got a nil *Array"},
		{"nil observation", "Counter-v0: the observation of Step: got nil, want f32[1]"},
		{"nil state", "Counter-v0: the state of Step: leaf .X is a nil *Array: fill it before use"},
		{"old observation", "Counter-v0: the observation of Step: it is not what Observe gives for the next state"},
		{"vector reward", "Counter-v0: the reward: got f32[1], want f32[]"},
		{"float time", "Counter-v0: the state of Step: .Time is f32[], in the state that it gets i32[]: convert"},
		{"no time", "Counter-v0: the state of Step: leaf .Time is a nil *Array: fill it before use"},
		{"Go value", "Counter-v0: the state of Step: .N is 0 in the state that it gets and 1 in the state " +
			"that it returns"},
		{"NaN", ""}, // a member that fails is no mistake of the environment
	} {
		err := envtest.First(envs.Erase(counter{c.fault}), graph.None{})
		if c.want == "" {
			require.NoError(t, err, "case %d", number)
			continue
		}
		assert.ErrorContains(t, err, c.want, "case %d", number)
		assert.Regexp(t, `^envtest_first_test\.go:\d+: `, err.Error(), "case %d", number)
	}
}
