package envtest

import (
	"fmt"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// visit is the record of a step. Fields for parts that the environment does not have are nil.
type visit struct {
	Next                               any
	Obs, Reward, Terminated, Truncated *graph.Array
	// bool: whether observation and action are in their spaces; whether Observe equals the observation
	Inside, Sampled, Observed *graph.Array
	Can                       *graph.Array `tree:"optional"` // bool: whether the next state has a legal action
	Mover                     *graph.Array `tree:"optional"` // the player who moved
	Player                    *graph.Array `tree:"optional"`
	Rewards                   *graph.Array `tree:"optional"`
	// f32[players]: rewards for an illegal action instead of this one
	Cheat      *graph.Array `tree:"optional"`
	CheatEnds  *graph.Array `tree:"optional"`
	Described  *graph.Array `tree:"optional"` // bool: whether the descriptor is in its space
	Objectives *graph.Array `tree:"optional"`
}

// episode plays random legal actions for a number of steps from a reset. It throws errors about wrong shapes.
func (c *checker) episode(steps int, params any) func(key random.Key) visit {
	return func(key random.Key) visit {
		state, obs := c.env.Reset(random.FoldIn(key, 0), params)
		c.want("Reset", "the observation of Reset", obs, c.spec.Observation.Shape())
		_, visits := graph.Scan(func(state any, i *graph.Array) (any, visit) {
			v := c.step(random.FoldIn(key, i), state, params)
			return v.Next, v
		}, state, graph.Iota(steps).Add(1))
		return visits
	}
}

func (c *checker) step(key random.Key, state, params any) (v visit) {
	act, step := random.Split2(key)
	action := graph.Zeros(c.spec.Action.Shape()) // for First: not every space can be sampled
	if !c.first {
		action = c.spec.Action.Sample(act)
	}
	c.want("Spec", "an action that Sample gave", action, c.spec.Action.Shape())
	var legal *graph.Array
	if c.traits.Legal != nil {
		legal = c.traits.Legal(state, params)
		choices, all := choicesOf(c.spec.Action), 0
		for _, n := range choices {
			all += n
		}
		c.want("Legal", "Legal", legal, graph.ShapeOf(graph.Bool, all))
		if _, several := c.spec.Action.(envs.MultiDiscrete); several {
			made, first := make([]*graph.Array, len(choices)), 0
			for i, n := range choices {
				made[i] = oneOf(random.FoldIn(act, i), graph.SliceAxis(legal, 0, first, first+n))
				first += n
			}
			action = graph.Stack(made, 0)
		} else {
			action = oneOf(act, legal)
		}
	}
	v.Sampled = c.spec.Action.Contains(action)

	v.Next, v.Obs, v.Reward, v.Terminated, v.Truncated = c.env.Step(step, state, action, params)
	c.want("Step", "the observation of Step", v.Obs, c.spec.Observation.Shape())
	c.want("Step", "the reward", v.Reward, graph.ShapeOf(graph.Float32))
	c.want("Step", "terminated", v.Terminated, graph.ShapeOf(graph.Bool))
	c.want("Step", "truncated", v.Truncated, graph.ShapeOf(graph.Bool))
	v.Inside = c.spec.Observation.Contains(v.Obs)
	again := c.env.Observe(v.Next, params)
	c.want("Observe", "Observe", again, c.spec.Observation.Shape())
	envs.CheckState(c.env, state, v.Next)
	nan := again.Ne(again).And(v.Obs.Ne(v.Obs))
	v.Observed = again.Eq(v.Obs).Or(nan).All()

	if c.traits.Legal != nil {
		v.Can = c.traits.Legal(v.Next, params).Any()
	}
	if c.traits.Describe != nil {
		d := c.traits.Describe(v.Next, params)
		c.want("Describe", "Describe", d, c.spec.Descriptor.Shape())
		v.Described = c.spec.Descriptor.Contains(d)
	}
	if c.traits.DescribeStep != nil {
		d := c.traits.DescribeStep(state, v.Next, v.Reward, params)
		c.want("DescribeStep", "DescribeStep", d, c.spec.Descriptor.Shape())
		v.Described = d.IsFinite().All()
	}
	if c.traits.Objectives != nil {
		v.Objectives = c.traits.Objectives(v.Next, params)
		c.want("Objectives", "Objectives", v.Objectives, graph.ShapeOf(graph.Float32, len(c.spec.Objectives)))
	}
	if c.traits.Report != nil {
		c.want("Report", "Report", c.traits.Report(v.Next, params), graph.ShapeOf(graph.Float32, len(c.spec.Reports)))
	}
	if game := c.traits; game.Player != nil {
		each := graph.ShapeOf(graph.Float32, c.spec.Players)
		v.Mover, v.Player, v.Rewards = game.Player(state, params), game.Player(v.Next, params),
			game.Rewards(v.Next, params)
		c.want("Player", "Player", v.Player, graph.ShapeOf(graph.Int32))
		c.want("Rewards", "Rewards", v.Rewards, each)
		// If every action is legal, an action out of range.
		illegal := graph.Select(legal.All(), graph.FullLike(action, legal.Size()), oneOf(act, legal.Not()))
		cheated, _, reward, ended, _ := c.env.Step(step, state, illegal, params)
		v.Cheat = game.Rewards(cheated, params)
		v.CheatEnds = ended.And(reward.Eq(-1))
	}
	return v
}

// oneOf draws the index of a true element of a mask; 0 if there is none.
func oneOf(key random.Key, mask *graph.Array) *graph.Array {
	return graph.Select(mask, random.Uniform(key, graph.ShapeOf(graph.Float32, mask.Size()), 0, 1), -1.).ArgMax(0)
}

// want throws unless got has a shape. what is the result of one of the environment's methods.
func (c *checker) want(method, what string, got *graph.Array, shape graph.Shape) {
	text := "nil"
	if got != nil {
		text = got.Shape().String()
	}
	if text != shape.String() {
		panic(&graph.Error{Where: envs.Line(c.env, method), Op: c.spec.ID + ": " + what,
			Msg: fmt.Sprintf("got %s, want %s", text, shape)})
	}
}

const livesSeed = 7 // seed of the episodes that lives plays

// lives plays one episode in each lane, checks every step, and returns the steps: [lanes, steps, …].
func (c *checker) lives() (visit, error) {
	steps := min(c.spec.MaxSteps, c.steps)
	if c.raw && c.traits.Player != nil {
		steps = min(steps+3, c.steps) // including steps after the end
	}
	v, err := run(graph.VMap(c.episode(steps, c.params)), random.Split(random.New(livesSeed), lanes))
	if err != nil {
		return v, err
	}
	table, err := c.read(v)
	if err != nil {
		return v, err
	}
	for lane := range lanes {
		over := false
		for i := range steps {
			if err := c.transition(table.at(lane*steps+i), i, over); err != nil {
				return v, fmt.Errorf("step %d of random play (lane %d): %w", i+1, lane, err)
			}
			m := table.at(lane*steps + i)
			over = over || m.terminated || m.truncated
		}
		if !over && steps >= c.spec.MaxSteps {
			return v, fmt.Errorf("no episode end within MaxSteps, %d", c.spec.MaxSteps)
		}
	}
	return v, nil
}

// transition is one step on the host.
type transition struct {
	reward                                               float64
	terminated, truncated                                bool
	inside, sampled, observed, can, cheatEnds, described bool
	mover, player                                        int
	rewards, cheat, objectives                           []float64
}

// transition returns the first error in step i, counted from 0; over: an earlier step ended the episode.
func (c *checker) transition(m transition, i int, over bool) error {
	ended := m.terminated || m.truncated
	switch {
	case !m.sampled:
		return fmt.Errorf("an action that Sample drew lies outside of %s", c.spec.Action)
	case math.IsNaN(m.reward):
		return fmt.Errorf("the reward is NaN")
	case !over && c.spec.MaxReward != nil && m.reward > *c.spec.MaxReward:
		return fmt.Errorf("the reward is %v, want at most MaxReward, %v", m.reward, *c.spec.MaxReward)
	case !m.observed:
		return fmt.Errorf("the observation that Observe gives is not that of Step")
	// After its end a raw episode may leave the spaces.
	case !over && !m.inside:
		return fmt.Errorf("the observation lies outside of %s", c.spec.Observation)
	case !over && !m.truncated && i == c.spec.MaxSteps-1 && !m.terminated, !over && m.truncated && i != c.spec.MaxSteps-
		1:
		return fmt.Errorf("truncated is %v, want it in step %d (MaxSteps) alone", m.truncated, c.spec.MaxSteps)
	case !over && c.traits.DescribeStep != nil && !m.described:
		return fmt.Errorf("DescribeStep is not finite")
	case !over && c.traits.Describe != nil && !m.described:
		return fmt.Errorf("the descriptor lies outside of %s", c.spec.Descriptor)
	case !over && !allFinite(m.objectives):
		return fmt.Errorf("the objectives are %v", m.objectives)
	case c.traits.Legal != nil && !m.can:
		return fmt.Errorf("no action is legal in the next state, want one at least, also where an episode is over")
	}
	if c.traits.Player == nil {
		return nil
	}
	sum, cheated := 0., 0.
	for p := range m.rewards {
		sum, cheated = sum+m.rewards[p], cheated+m.cheat[p]
	}
	raw := c.raw && over
	switch {
	case m.mover < 0 || m.mover >= c.spec.Players || m.player < 0 || m.player >= c.spec.Players:
		return fmt.Errorf("players %d and then %d move, want numbers below Players, %d", m.mover, m.player,
			c.spec.Players)
	case !(math.Abs(sum) < 1e-5):
		return fmt.Errorf("the rewards %v do not sum to 0", m.rewards)
	case m.reward != m.rewards[m.mover]:
		return fmt.Errorf("the reward is %v, want that of player %d, who moved, of %v", m.reward, m.mover, m.rewards)
	case raw && (!ended || !allZero(m.rewards)):
		return fmt.Errorf("the game was over before: got terminated %v and rewards %v, want it to stay over and zeros",
			m.terminated, m.rewards)
	case !raw && (!m.cheatEnds || !(math.Abs(cheated) < 1e-5) || m.cheat[m.mover] != -1):
		return fmt.Errorf("an illegal action of player %d gave rewards %v, want the game to end, -1 for that player "+
			"and 1 shared by the others", m.mover, m.cheat)
	}
	return nil
}

func allFinite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

func allZero(v []float64) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}

// columns are a visit's leaves on the host, row-major with lanes and steps first.
type columns struct {
	checker *checker
	v       map[*graph.Array][]float64
	visit   visit
}

func (c *checker) read(v visit) (columns, error) {
	out := columns{checker: c, v: map[*graph.Array][]float64{}, visit: v}
	for _, a := range []*graph.Array{v.Reward, v.Terminated, v.Truncated, v.Inside, v.Sampled, v.Observed, v.Can,
		v.Mover, v.Player, v.Rewards, v.Cheat, v.CheatEnds, v.Described, v.Objectives} {
		if a == nil {
			continue
		}
		var err error
		if out.v[a], err = graph.Floats(a); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (t columns) at(row int) (m transition) {
	flag := func(a *graph.Array) bool { return a != nil && t.v[a][row] != 0 }
	number := func(a *graph.Array) int {
		if a == nil {
			return 0
		}
		return int(t.v[a][row])
	}
	vector := func(a *graph.Array) []float64 {
		if a == nil {
			return nil
		}
		n := a.Dim(2)
		return t.v[a][row*n : (row+1)*n]
	}
	v := t.visit
	return transition{reward: t.v[v.Reward][row], terminated: flag(v.Terminated), truncated: flag(v.Truncated),
		inside: flag(v.Inside), sampled: flag(v.Sampled), observed: flag(v.Observed), can: flag(v.Can),
		cheatEnds: flag(v.CheatEnds), described: flag(v.Described),
		mover: number(v.Mover), player: number(v.Player), rewards: vector(v.Rewards), cheat: vector(v.Cheat),
		objectives: vector(v.Objectives)}
}

// choicesOf is the number of actions of each choice of a space; nil for a Box.
func choicesOf(s envs.Space) []int {
	switch s := s.(type) {
	case envs.Discrete:
		return []int{s.N}
	case envs.MultiDiscrete:
		return s.N
	}
	return nil
}
