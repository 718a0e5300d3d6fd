package ppo

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/train"
)

// State is the state of one agent between updates. Its leaves are saved under the names of the fields.
type State struct {
	Params    Params
	Optimizer any
	Value     any // state of the value head
	Scale     train.LossScale
	EnvStates EnvState     // the environments, on axis 0
	Key       random.Key   // of the agent; update u uses FoldIn(Key, u)
	Update    *graph.Array // i32[]: updates done
	Recent    recent
	Best      best
	Observed  observationStats // of all observations before this update
	Rewards   rewardScaler
	// Evaluated is what the last evaluation found, f32[3·ways]: episode.FiniteOf in each way to act. It is -1 before
	// the first one, and nil without evaluations.
	Evaluated *graph.Array `tree:"optional"`
}

// EnvState is one environment in the middle of an episode.
type EnvState struct {
	State       any // of the environment
	Observation *graph.Array
	Drawn       any          // the environment's parameters in this episode; graph.None{} if they are always the same
	Actor       any          // the actor's carry
	Critic      any          // the carry of a separate critic, else graph.None{}
	Return      *graph.Array // f32[]: of the episode so far
	Length      *graph.Array // i32[]: steps of the episode so far
}

// recent is the mean return of about the last 100 episodes: each weighs 0.99 times as much as the episode after it.
type recent struct{ Sum, Weight *graph.Array }

// recentDecay is the weight of an episode relative to the episode after it.
const recentDecay = .99

// mean returns the mean return, NaN if no episode has ended.
func (r recent) mean() *graph.Array {
	return graph.Select(r.Weight.Gt(0), r.Sum.Div(r.Weight.Max(1e-9)), math.NaN())
}

// with adds the episodes of an update.
func (r recent) with(e episodes) recent {
	decay := e.Count.Mul(math.Log(recentDecay)).Exp()
	return recent{r.Sum.Mul(decay).Add(e.Return), r.Weight.Mul(decay).Add(e.Count)}
}

// best is the actor with the highest recent return so far.
type best struct {
	Actor       any
	Observation observationScale // by which its observations were normalized
	Return      *graph.Array     // f32[]
}

// minEpisodes is the weight of recent episodes below which their mean is too noisy: until then the best actor is the
// last actor.
const minEpisodes = 10

// better returns other if its return is higher, or if force.
func (b best) better(other best, force *graph.Array) best {
	next := graph.SelectTree(force.Or(other.Return.Gt(b.Return)), other, b)
	next.Return = graph.Select(force, math.Inf(-1), next.Return)
	return next
}

// start returns an agent before its first update.
func (g *program) start(key random.Key) State {
	keys := random.SplitN(key, 3)
	p := g.network.init(keys[0])
	zero := graph.Scalar(0, graph.Int32)
	observed := g.config.observationStats(g.play.Env.Spec().Observation)
	s := State{Params: p, Key: keys[1], Update: zero, Value: g.head.Start(), Scale: g.config.lossScale(),
		Recent: recent{graph.Scalar(0), graph.Scalar(0)}, Observed: observed, Rewards: g.config.rewardScaler(),
		Best:      best{p.Actor, observed.scale(), graph.Scalar(math.Inf(-1))},
		Evaluated: g.evaluation.none()}
	s.Optimizer = g.optimizer(g.hyperparameters(inputs{Updates: graph.Scalar(1)}, zero)).Init(p)
	s.EnvStates = graph.VMap(func(key random.Key) EnvState {
		return g.firstState(p, key)
	})(random.Split(keys[2], g.config.Envs))
	return s
}

// starts returns the first state of one agent, or of several along axis 0. Agent i has the key FoldIn(key, i).
func (g *program) starts(key random.Key, agents int) State {
	if agents == 1 {
		return g.start(random.FoldIn(key, 0))
	}
	return graph.VMap2(func(key random.Key, i *graph.Array) State {
		return g.start(random.FoldIn(key, i))
	}, graph.InAxes(graph.Unmapped, 0))(key, graph.Iota(agents))
}
