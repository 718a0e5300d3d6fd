package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// clock pays the number of the step; an episode terminates at step 3 if that was action 0, and is truncated at step 5.
type clock struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](clock{}) }

func (clock) Spec() envs.Spec {
	return envs.Spec{ID: "Clock-v0", Observation: envs.Box{Low: []float64{0}, High: []float64{5}, Dims: []int{1}, DType: graph.Float32}, Action: envs.Discrete{N: 2},
		MaxSteps: 5, RewardThreshold: math.NaN()}
}
func (clock) DefaultParams() graph.None { return graph.None{} }
func (e clock) Reset(_ random.Key, p graph.None) (state, obs *graph.Array) {
	state = graph.Scalar(0)
	return state, e.Observe(state, p)
}
func (clock) Observe(s *graph.Array, _ graph.None) *graph.Array { return graph.Reshape(s, 1) }
func (e clock) Step(_ random.Key, s, action *graph.Array, p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	next = graph.Add(s, 1)
	return next, e.Observe(next, p), next, graph.And(graph.Eq(next, 3), graph.Eq(action, 0)), graph.Ge(next, 5)
}

// Values, final values, advantages, targets and normalised rewards are those of plain loops over what was played, and PopArt's layer gives
// what it gave when its statistics move.
func TestAnUpdateIsTheLoopsByHand(t *testing.T) {
	const horizon, envs, gamma, lambda = 17, 3, .9, .8
	for i, c := range []Config{
		small(nil),
		small(func(c *Config) { c.Shared = true }),
		small(func(c *Config) { c.Value = "popart" }),
		small(func(c *Config) { c.Shared, c.Value = true, "popart" }),
	} {
		c.Env, c.Envs, c.Horizon, c.Minibatches, c.NormalizeRewards = "Clock-v0", envs, horizon, 1, true
		g, err := c.program()
		require.NoError(t, err)
		type seen struct {
			Clock, Draw, Reward, Terminated, Truncated, Final *graph.Array
			Values, Finals, Last, Advantages, Targets         *graph.Array
			ByHand, FinalByHand, Normalised, Before, After    *graph.Array
		}
		got, err := xlabridge.Jit1(&xlabridge.Reference{}, func(key random.Key) seen {
			s := g.start(key)
			collector := g.normalizing(s)
			worlds, m := collector.collect(s.Params, s.Worlds, collector.chances(key, horizon, envs))
			e := g.estimate(collector, s, worlds, m)
			a, targets := advantages(m.Reward, e, m, graph.Scalar(gamma), graph.Scalar(lambda))
			value := func(p Params, state any) func(observation *graph.Array) *graph.Array {
				return func(observation *graph.Array) *graph.Array {
					if c.Shared {
						_, out := g.collect.actor.Act(p.Actor, g.collect.actor.Start(p.Actor), observation, key)
						return g.head.Read(state, g.collect.valuesOf(out.Action))
					}
					_, out := g.collect.critic.Act(p.Critic, g.collect.critic.Start(p.Critic), observation, key)
					return g.head.Read(state, out.Action)
				}
			}
			all := func(p Params, state any, x *graph.Array) *graph.Array {
				return graph.VMap(graph.VMap(value(p, state)))(x)
			}
			after := g.head.Prepare(s.Value, graph.Flatten1D(targets))
			rewards, _ := s.Rewards.normalize(m, graph.Scalar(gamma))
			return seen{m.Observation, m.Draw, m.Reward, m.Terminated, m.Truncated, m.Final, e.Values, e.Finals, e.Last, a, targets,
				all(s.Params, s.Value, m.Observation), all(s.Params, s.Value, m.Final), rewards,
				all(s.Params, s.Value, m.Observation), all(g.rescaled(s, after), after, m.Observation)}
		})(random.New(int64(i)))
		require.NoError(t, err)
		x := func(a *graph.Array) []float64 {
			v, err := graph.Floats(graph.Convert(a, graph.Float32))
			require.NoError(t, err)
			return v
		}
		at, draw, reward, terminated, truncated, final := x(got.Clock), x(got.Draw), x(got.Reward), x(got.Terminated), x(got.Truncated), x(got.Final)
		values, finals := x(got.ByHand), x(got.FinalByHand)
		require.InDeltaSlice(t, values, x(got.Values), 1e-5, "case %d", i)
		require.InDeltaSlice(t, finals, x(got.Finals), 1e-5, "case %d", i)
		require.InDeltaSlice(t, finals[(horizon-1)*envs:], x(got.Last), 1e-5, "case %d", i)
		require.InDeltaSlice(t, x(got.Before), x(got.After), 1e-4, "case %d", i)
		ends := map[string]int{}
		var sums []float64
		for n := range envs {
			now, sum := 0., 0.
			for k := range horizon { // what was played
				j := k*envs + n
				require.Equal(t, now, at[j], "case %d, step %d", i, k)
				require.Equal(t, now+1, final[j], "what a step led to, before any reset")
				require.Equal(t, now+1, reward[j])
				over := now+1 == 3 && draw[j] == 0
				require.Equal(t, over, terminated[j] == 1, "case %d, step %d", i, k)
				require.Equal(t, now+1 >= 5, truncated[j] == 1, "case %d, step %d", i, k)
				now, sum = now+1, gamma*sum+reward[j]
				sums = append(sums, sum)
				switch {
				case over:
					now, sum = 0, 0
					ends["terminated"]++
				case truncated[j] == 1:
					now, sum = 0, 0
					ends["truncated"]++
				}
			}
			behind := 0.
			for k := horizon - 1; k >= 0; k-- {
				j := k*envs + n
				next := finals[j] // of the last step, too
				if terminated[j] == 1 {
					next = 0
				} else if truncated[j] == 0 && k < horizon-1 {
					next = values[j+envs]
				}
				if terminated[j] == 1 || truncated[j] == 1 {
					behind = 0
				}
				behind = reward[j] + gamma*next - values[j] + gamma*lambda*behind
				require.InDelta(t, behind, x(got.Advantages)[j], 1e-3, "case %d, step %d", i, k)
				require.InDelta(t, behind+values[j], x(got.Targets)[j], 1e-3, "case %d, step %d", i, k)
			}
		}
		require.Positive(t, ends["terminated"])
		require.Positive(t, ends["truncated"])
		mean, squares := 0., 0.
		for _, s := range sums {
			mean += s / float64(len(sums))
		}
		for _, s := range sums {
			squares += (s - mean) * (s - mean) / float64(len(sums))
		}
		for j, r := range x(got.Normalised) {
			require.InEpsilon(t, reward[j]/math.Sqrt(squares), r, 1e-2, "case %d", i)
		}
	}
}
