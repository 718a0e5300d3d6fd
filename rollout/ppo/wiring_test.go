package ppo

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// clock is an environment that shows its clock and the kind of the episode: of kind 0 it terminates after two steps, of
// kind 1 it is truncated after three, of kind 2 both happen after four.
type clock struct{}

type clockState struct{ Clock, Kind *graph.Array } // f32[]

func init() { envs.MustRegister[clockState, graph.None](clock{}) }

func (clock) Spec() envs.Spec {
	return envs.Spec{ID: "Clock-v0", Observation: envs.Symmetric(4, 4), Action: envs.Discrete{N: 3}, MaxSteps: 4}
}
func (clock) DefaultParams() graph.None { return graph.None{} }
func (e clock) Reset(key random.Key, p graph.None) (s clockState, obs *graph.Array) {
	s = clockState{graph.Scalar(0), graph.Convert(random.Randint(key, graph.ShapeOf(graph.Int32), 0, 3), graph.Float32)}
	return s, e.Observe(s, p)
}
func (clock) Observe(s clockState, _ graph.None) *graph.Array {
	return graph.Concatenate(0, graph.Reshape(s.Clock, 1), graph.Reshape(s.Kind, 1))
}
func (e clock) Step(_ random.Key, s clockState, _ *graph.Array,
	p graph.None) (next clockState, obs, reward, terminated, truncated *graph.Array) {
	reward = graph.Sub(graph.Mul(4, s.Clock), graph.Mul(3, s.Kind))
	s.Clock = graph.Add(s.Clock, 1)
	over := graph.Ge(s.Clock, graph.Add(s.Kind, 2))
	return s, e.Observe(s, p), reward, graph.And(over, graph.Ne(s.Kind, 1)), graph.And(over, graph.Ge(s.Kind, 1))
}

// cell is the part of a tree [steps, environments, …] that is of one step of one environment.
func cell[T any](tree T, t, e int) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Index(graph.Index(a, t), e) }, tree)
}

// evaluated is a tree with its numbers, where it had what they follow from.
func evaluated[T any](t *testing.T, tree T) T {
	t.Helper()
	tree, err := graph.Eval(tree)
	require.NoError(t, err)
	return tree
}

// floatsOf returns the numbers of a tree.
var floatsOf = graphtest.Floats

// deviation is the standard deviation of all x, and their mean.
func deviation(x []float64) (sigma, mean float64) {
	for _, y := range x {
		mean += y / float64(len(x))
	}
	for _, y := range x {
		sigma += (y - mean) * (y - mean) / float64(len(x))
	}
	return math.Sqrt(sigma + 1e-8), mean
}

// Between the networks and the loss an update gives each thing to what wants it: values, final values, memories,
// advantages, targets and rewards of two updates equal those of plain loops over the recorded transitions.
func TestUpdateIsWiredAsLoopsAre(t *testing.T) {
	const horizon, environments = 8, 2
	for i, c := range []struct {
		what   string
		change func(c *Config)
	}{
		{"two networks", func(*Config) {}},
		{"two networks with memory", func(c *Config) { c.Policy = "gru:3" }},
		{"a shared network", func(c *Config) { c.Shared = true }},
		{"a shared network with memory", func(c *Config) { c.Policy, c.Shared = "gru:3", true }},
		{"observations and rewards normalized", func(c *Config) {
			c.NormalizeObservations, c.NormalizeRewards = true, true
		}},
		{"values rescaled", func(c *Config) { c.Value, c.LearningRate = "popart", settings.Num(1e-12) }},
		{"values of a shared network with memory rescaled", func(c *Config) {
			c.Value, c.LearningRate, c.Policy, c.Shared = "popart", settings.Num(1e-12), "gru:3", true
		}},
	} {
		config := small(func(x *Config) {
			x.Env, x.Policy, x.Envs, x.Horizon, x.Steps, x.Epochs, x.Minibatches = "Clock-v0", "mlp:3", environments,
				horizon, 100, 1, 1
			x.Gamma, x.Lambda, x.LearningRate = settings.Num(.9), settings.Num(.7), settings.Num(.01)
			c.change(x)
		})
		g, err := config.program()
		require.NoError(t, err)
		in := g.inputs(population.CutTiles(1, 1, 1))
		s := evaluated(t, g.starts(random.New(3), 1))
		var actors, critics [environments]any // what the networks remember
		for e := range environments {
			actors[e], critics[e] = g.actor.Start(s.Params.Actor), g.critic.start(s.Params)
		}
		var sums [environments]float64 // of discounted rewards
		var allSums []float64
		var seen [2][]float64         // all observations of earlier updates, by element
		var ended [2][2]int           // how many steps terminated, and were truncated
		var lastEnded, lastWentOn int // how many environments ended an episode in an update's last step
		for update := range 2 {
			same := func(what string, want, got any) {
				t.Helper()
				x, y := floatsOf(t, want), floatsOf(t, got)
				require.Len(t, y, len(x), "set-up %d, %s: update %d, %s", i, c.what, update, what)
				for k := range x {
					require.InDelta(t, x[k], y[k], 1e-4*max(1, math.Abs(x[k])),
						"set-up %d, %s: update %d, %s, number %d", i, c.what, update, what, k)
				}
			}
			// As update does.
			u := g.newUpdate(s, in)
			stepsKey, _ := random.Split2(random.FoldIn(s.Key, s.Update))
			worlds, raw := u.rollout(s.Params, s.EnvStates, u.stepKeys(splitKeys(stepsKey, horizon, environments)))
			raw = evaluated(t, raw)
			_, m := u.evaluate(s, s.EnvStates, worlds, raw)
			rewards, _ := s.Rewards.scale(m, config.Gamma.Array())
			advantages, targets := calculateGAE(rewards, m, config.Gamma.Array(), config.Lambda.Array())
			next, _ := g.updateStep(s, in)
			next = evaluated(t, next)

			normal := func(o *graph.Array) *graph.Array {
				x := floatsOf(t, o)
				for k := range x {
					if config.NormalizeObservations && update > 0 {
						sigma, mean := deviation(seen[k])
						x[k] = max(-policy.Clip, min((x[k]-mean)/sigma, policy.Clip))
					}
				}
				return graph.Convert(graph.Float64s(x), graph.Float32)
			}
			actor, shared := u.actor, u.shared
			look := func(p Params, state any, e int, o *graph.Array,
				key random.Key) (afterActor, afterCritic any, out, value *graph.Array) {
				afterActor, all := actor.Act(p.Actor, actors[e], o, key)
				out = all.Action
				if shared {
					value = graph.SliceAxis(out, 0, 3, 4)
				} else {
					next, all := g.criticPolicy().Act(p.Critic, critics[e], o, key)
					afterCritic, value = next, all.Action
				}
				return afterActor, afterCritic, out, g.head.Read(state, value)
			}
			type step struct {
				value, final, reward  float64
				terminated, truncated bool
			}
			var all [horizon][environments]step
			for k := range horizon {
				for e := range environments {
					now := cell(raw, k, e)
					o := floatsOf(t, now.Observation)
					over := o[0]+1 == o[1]+2
					terminated, truncated := over && o[1] != 1, over && o[1] >= 1
					flag := map[bool]float64{true: 1}
					same("transition", graph.Float64s([]float64{o[0] + 1, o[1], 4*o[0] - 3*o[1], flag[terminated],
						flag[truncated], flag[o[0] == 0]}),
						[]*graph.Array{now.NextObservation, now.Reward, now.Terminated, now.Truncated, now.First})

					afterActor, afterCritic, out, value := look(s.Params, s.Value, e, normal(now.Observation), now.Key)
					same("output", out, now.Outputs)
					if config.Value == "popart" {
						_, _, out, again := look(next.Params, next.Value, e, normal(now.Observation), now.Key)
						same("value by rescaled parameters", value, again)
						same("actions by rescaled parameters", graph.SliceAxis(now.Outputs, 0, 0, 3),
							graph.SliceAxis(out, 0, 0, 3))
					}
					actors[e], critics[e] = evaluated(t, afterActor), evaluated(t, afterCritic)
					_, _, _, final := look(s.Params, s.Value, e, normal(now.NextObservation), now.Key)
					all[k][e] = step{floatsOf(t, value)[0], floatsOf(t, final)[0], 4*o[0] - 3*o[1], terminated,
						truncated}
					sums[e] = .9*sums[e] + all[k][e].reward
					allSums = append(allSums, sums[e])
					if over {
						sums[e], actors[e] = 0, actor.Start(s.Params.Actor)
						critics[e] = g.critic.start(s.Params)
					}
					ended[int(flag[terminated])][int(flag[truncated])]++
					if over && k == horizon-1 {
						lastEnded++
					} else if k == horizon-1 {
						lastWentOn++
					}
				}
			}
			for k := range horizon {
				for e := range environments {
					for n, x := range floatsOf(t, raw.Observation)[(k*environments+e)*2:][:2] {
						seen[n] = append(seen[n], x)
					}
				}
			}

			var values, finals, wantRewards, wantAdvantages, wantTargets []float64
			sigma, _ := deviation(allSums)
			for k := range horizon {
				for e := range environments {
					x := &all[k][e]
					if config.NormalizeRewards {
						x.reward = max(-10, min(x.reward/sigma, 10))
					}
					values, finals, wantRewards = append(values, x.value), append(finals, x.final),
						append(wantRewards, x.reward)
				}
			}
			wantAdvantages, wantTargets = make([]float64, len(values)), make([]float64, len(values))
			for e := range environments {
				after := 0.
				for k := horizon - 1; k >= 0; k-- {
					x, at := all[k][e], k*environments+e
					ahead := x.final // of a step that was truncated, or the last
					if k < horizon-1 && !x.truncated {
						ahead = all[k+1][e].value
					}
					if x.terminated {
						ahead = 0
					}
					if x.terminated || x.truncated {
						after = 0
					}
					after = x.reward + .9*ahead - x.value + .9*.7*after
					wantAdvantages[at], wantTargets[at] = after, after+x.value
				}
			}
			same("values", graph.Float64s(values), m.Value)
			same("values of next observations", graph.Float64s(finals), m.NextValue)
			same("rewards", graph.Float64s(wantRewards), rewards)
			same("advantages", graph.Float64s(wantAdvantages), advantages)
			same("targets", graph.Float64s(wantTargets), targets)
			same("state of the value head", g.head.Prepare(s.Value, graph.Convert(graph.Float64s(wantTargets),
				graph.Float32)), next.Value)
			for e := range environments {
				row := func(a *graph.Array) *graph.Array { return graph.Index(a, e) }
				same("the actor's memory", actors[e], graph.MapTree(row, next.EnvStates.Actor))
				if !shared {
					same("the critic's memory", critics[e], graph.MapTree(row, next.EnvStates.Critic))
				}
			}
			s = next
		}
		require.NotContains(t, []int{ended[0][0], ended[0][1], ended[1][0], ended[1][1], lastEnded, lastWentOn}, 0,
			"set-up %d ends in all ways", i)
	}
}

// criticPolicy returns the network of a separate critic.
func (n *network) criticPolicy() policy.Policy {
	switch c := n.critic.(type) {
	case separateCritic:
		return c.network
	case recurrentCritic:
		return c.network
	}
	return nil
}
