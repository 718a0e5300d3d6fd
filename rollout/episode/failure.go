package episode

import (
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// Failure is the first number in an episode that made its return NaN or infinite.
type Failure struct {
	Step  int    // from 1
	Leaf  string // "the reward", "the observation", "the policy's output", "the return", or "VELOCITY of the state"
	Value string // "NaN" or "infinite"
}

func (f Failure) String() string { return fmt.Sprintf("in step %d %s is %s", f.Step, f.Leaf, f.Value) }

// Codes of the leaves of a step.
const (
	codeFinite   = 0
	codeInfinite = 1
	codeNaN      = 2
)

// FindFailure plays the episodes of one member, as Rollout.Member does, and finds the first failure. ok is false if
// all returns are finite.
//
// A NaN is blamed wherever it is. An infinite number is blamed if it was finite in the first step, because states may
// begin with infinity, such as the best distance so far.
func FindFailure(b xlabridge.Backend, r *Rollout, params any, key random.Key) (f Failure, ok bool, err error) {
	one := *r
	one.Plan, one.Episodes, one.Gather = plan.Plan{}, 1, false
	var names []string
	type rows struct{ Codes, Reward, Alive *graph.Array }
	play := xlabridge.Jit2(b, func(params any, key random.Key) rows {
		names = nil
		_, steps := Play(&one, params, key, func(s Step) rows {
			var codes []*graph.Array
			names = nil // the loop's body is traced more than once
			add := func(name string, a *graph.Array) {
				if a.DType().IsFloat() {
					names, codes = append(names, name), append(codes, code(a))
				}
			}
			state := func(tree any) {
				leaves, t := graph.Flatten(tree)
				for i, a := range leaves {
					add(stateLeaf(t.Path(i)), a)
				}
			}
			state(s.State)
			add("the observation", s.Observation)
			add("the policy's output", s.Output.Action)
			state(s.After)
			add("the reward", s.Reward)
			return rows{graph.Stack(codes, 0), s.Reward.Convert(graph.Float32), s.Alive.Convert(graph.Float32)}
		})
		return steps
	})
	for e := range max(1, r.Episodes) {
		episodeKey := key
		if r.Episodes > 1 {
			episodeKey = random.FoldIn(key, e)
		}
		steps, err := play(params, episodeKey)
		if err != nil {
			return f, false, err
		}
		var read [3][]float64
		for i, a := range []*graph.Array{steps.Codes, steps.Reward, steps.Alive} {
			if read[i], err = graph.Floats(a); err != nil {
				return f, false, err
			}
		}
		if f, ok = firstFailure(names, read[0], read[1], read[2]); ok {
			return f, true, nil
		}
	}
	return f, false, nil
}

// code returns f32[]: the worst code of an array's numbers.
func code(a *graph.Array) *graph.Array {
	flat := graph.Flatten1D(a)
	infinite := graph.Select(flat.IsFinite().All(), float32(codeFinite), float32(codeInfinite))
	return graph.Select(flat.IsNaN().Any(0), float32(codeNaN), infinite)
}

// stateLeaf names a leaf of the environment's state.
func stateLeaf(path string) string {
	if path == "" {
		return "the state"
	}
	return safetensors.Name(path) + " of the state"
}

// firstFailure finds the failure of one episode in the codes of its steps, [steps, names].
func firstFailure(names []string, codes, rewards, alive []float64) (Failure, bool) {
	n := len(names)
	var sum float32
	for last := range rewards {
		if alive[last] == 0 {
			break
		}
		sum += float32(rewards[last])
		if x := float64(sum); !math.IsNaN(x) && !math.IsInf(x, 0) {
			continue
		}
		for step := range last + 1 {
			for i, c := range codes[step*n : (step+1)*n] {
				switch {
				case c == codeNaN:
					return Failure{step + 1, names[i], "NaN"}, true
				case c == codeInfinite && (codes[i] == codeFinite || names[i] == "the reward"):
					return Failure{step + 1, names[i], "infinite"}, true
				}
			}
		}
		return Failure{last + 1, "the return", "infinite"}, true // the sum of finite rewards
	}
	return Failure{}, false
}
