package python

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// vectorArgument makes a vector of environments.
type vectorArgument struct {
	ID        string         `json:"id"`
	Lanes     int            `json:"num_envs"`
	Autoreset string         `json:"autoreset"` // a value of Gymnasium's AutoresetMode
	Params    map[string]any `json:"params"`
}

// The values of Gymnasium's AutoresetMode. After the end of an episode the next one begins: in the next step, whose
// action is ignored; in the same step; or at a reset.
const nextStep, sameStep, noReset = "NextStep", "SameStep", "Disabled"

// lane is the state of one environment. Episode e of the seed s has the key of episode e of `xlarun play --seed s`
// (run.EpisodesKey).
type lane struct {
	Start   start
	Seed    random.Key   // of the episodes
	Episode *graph.Array // i32[]
	Time    *graph.Array // i32[]: steps of the episode
	Done    *graph.Array // bool[]: the next step begins the next episode
}

// start is what an episode begins with.
type start struct {
	Env any
	Key random.Key // of the episode
}

// vector is many environments of one kind.
type vector struct {
	rollout *episode.Rollout
	mode    string
	lanes   int
	began   bool
	reset   *xlabridge.Compiled
	step    *xlabridge.Compiled
	inputs  []*graph.Array // parameters
	packing *graph.Packing // of a stepResult

	action, seeds, mask, results int // fields
	kept
}

// vectorSlots are three steps whose arrays Python may hold without a copy, and one that it copies.
const vectorSlots = 4

// maxLanes bounds the number of environments.
const maxLanes = 1 << 24

// timestep is the result of a step or a reset for Python.
type timestep struct {
	Observation *graph.Array `tree:"optional"` // of the state from which the next step goes
	Reward      *graph.Array // f32[]
	Terminated  *graph.Array // bool[]
	Truncated   *graph.Array // bool[]
	Legal       *graph.Array `tree:"optional"` // of the actions
	Final       *graph.Array `tree:"optional"` // the last observation of the episode that ended in this step
	Bad         *graph.Array // bool[]: the action is not in the space, or a box's is not finite
}

// stepResult is the result of a step: of one lane, or of all lanes.
type stepResult struct {
	Lanes    lane
	Timestep timestep
}

// playable lists the environments of one player.
func playable() (ids []string) {
	for _, id := range envs.IDs() {
		if env, err := envs.Make(id); err == nil && env.Spec().Players < 2 {
			ids = append(ids, id)
		}
	}
	return ids
}

// vector makes a vector of environments.
func (s *Server) vector(argument []byte) (o object, description map[string]any, err error) {
	var in vectorArgument
	if err := read(argument, &in); err != nil {
		return o, nil, err
	}
	if in.Lanes < 1 || in.Lanes > maxLanes {
		return o, nil, console.BadInput("num_envs: got %d, want 1 to %d", in.Lanes, maxLanes)
	}
	if !slices.Contains([]string{nextStep, sameStep, noReset}, in.Autoreset) {
		return o, nil, console.BadInput("autoreset_mode: got %q, want %s, %s or %s", in.Autoreset, nextStep, sameStep,
			noReset)
	}
	env, err := envs.Make(in.ID)
	if err != nil {
		return o, nil, console.BadInput("id: %w", err)
	}
	if spec := env.Spec(); spec.Players > 1 {
		return o, nil, console.BadInput("id: got %s, a game of %d players, want an environment of one", in.ID,
			spec.Players)
	}
	var given settings.Pairs
	for name, value := range valuesOf(in.Params) {
		given = given.With(name, fmt.Sprint(value))
	}
	x := &vector{rollout: &episode.Rollout{}, mode: in.Autoreset, lanes: in.Lanes,
		kept: kept{server: s, memory: &memory{slots: vectorSlots}}}
	if x.rollout.Env, x.rollout.Given, err = episode.ReadEnvParams(env, given); err != nil {
		return o, nil, err
	}
	if err = x.compile(); err == nil {
		err = x.memory.open()
	}
	if err != nil {
		x.close()
		return o, nil, err
	}
	spec := x.rollout.Env.Spec()
	description = x.memory.describe()
	description["observation"] = envs.DescribeSpace(spec.Observation)
	description["action"] = envs.DescribeSpace(spec.Action)
	return object{map[string]func(argument []byte) (any, error){"reset": x.memory.request(x.resetLanes),
		"step": x.memory.request(x.stepLanes)}, x.memory, x.close}, description, nil
}

// bound returns the vector with a program's inputs as parameters.
func (x *vector) bound(in any) *vector {
	bound := *x
	bound.rollout = x.rollout.Bound(in.(map[string]*graph.Array))
	return &bound
}

// newEpisode returns the start of an episode of a seed.
func (x *vector) newEpisode(seed random.Key, number *graph.Array) start {
	key := random.FoldIn(seed, number)
	params, _ := x.rollout.ParamsOf(key)
	state, _ := x.rollout.Env.Reset(random.FoldIn(key, 0), params)
	return start{state, key}
}

// firstEpisode returns a lane at the start of an episode.
func (x *vector) firstEpisode(seed random.Key, number *graph.Array) lane {
	return lane{x.newEpisode(seed, number), seed, number, graph.Scalar(0, graph.Int32), graph.Scalar(false)}
}

// autoreset begins the next episode of each lane in the mask done, bool[lanes]. A reset costs more than a step, and
// few lanes are done at a time. So up to room lanes at a time are gathered, reset and put back.
func (x *vector) autoreset(lanes lane, done *graph.Array) lane {
	type loop struct {
		Start start
		From  *graph.Array // i32[]: so many lanes of the mask have begun
	}
	numbers, room := lanes.Episode.Add(1), max(x.lanes/16, leastRoom)
	begin := graph.VMap2(func(seed, number *graph.Array) start { return x.newEpisode(random.Key{Data: seed}, number) })
	// Number the lanes of the mask from 1 on. CumSum calls a kernel, which keeps the step from being one function.
	add := func(a, b *graph.Array) *graph.Array { return graph.Once(a.Add(b)) }
	rank := graph.AssociativeScan(add, done.Convert(graph.Int32))
	total := graph.ReduceMax(rank)
	lanes.Start = graph.While(func(l loop) *graph.Array { return l.From.Lt(total) }, func(l loop) loop {
		seeds, numbers, place := lanes.Seed.Data, numbers, rank.Sub(1).Sub(l.From)
		put := func(fresh start) start { return fresh }
		if room < x.lanes {
			which := graph.SearchSorted(rank, graph.Iota(room).Add(l.From).Add(1), false).Min(x.lanes - 1)
			seeds, numbers = graph.Take(seeds, which, 0), graph.Take(numbers, which, 0)
			put = func(fresh start) start {
				return graph.MapTree(func(a *graph.Array) *graph.Array {
					return graph.Take(a, place.Clamp(0, room-1), 0)
				}, fresh)
			}
		}
		begun := done.And(place.Ge(0)).And(place.Lt(room))
		return loop{graph.VMap2(func(begun *graph.Array, l [2]start) start {
			return graph.SelectTree(begun, l[0], l[1])
		})(begun, [2]start{put(begin(seeds, numbers)), l.Start}), l.From.Add(room)}
	}, loop{lanes.Start, graph.Scalar(0, graph.Int32)}).Start
	lanes.Episode = graph.Select(done, numbers, lanes.Episode)
	lanes.Time = graph.Select(done, 0, lanes.Time)
	lanes.Done = lanes.Done.And(done.Not())
	return lanes
}

// leastRoom is the least number of lanes that autoreset gathers.
const leastRoom = 64

// stepOne steps one lane with an action.
func (x *vector) stepOne(l lane, action *graph.Array) stepResult {
	env, space := x.rollout.Env, x.rollout.Env.Spec().Action
	params, _ := x.rollout.ParamsOf(l.Start.Key)
	next, out := l, timestep{Bad: graph.Scalar(false)}
	if _, box := space.(envs.Box); !box {
		out.Bad = space.Contains(action).Not()
	} else if action.DType().IsFloat() { // environments clip what is beyond the bounds
		out.Bad = action.IsFinite().All().Not()
	}
	next.Time = l.Time.Add(1)
	next.Start.Env, out.Final, out.Reward, out.Terminated, out.Truncated =
		env.Step(random.FoldIn(l.Start.Key, next.Time), l.Start.Env, action, params)
	next.Done = out.Terminated.Or(out.Truncated)
	return stepResult{next, out}
}

// observe adds the observations and the legal actions of the lanes to a result.
func (x *vector) observe(lanes lane, out timestep) timestep {
	type shown struct {
		Observation *graph.Array `tree:"optional"`
		Legal       *graph.Array `tree:"optional"`
	}
	env, legal := x.rollout.Env, envs.TraitsOf(x.rollout.Env).Legal
	s := graph.VMap(func(l lane) (s shown) {
		params, _ := x.rollout.ParamsOf(l.Start.Key)
		s.Observation = env.Observe(l.Start.Env, params)
		if env.Spec().LegalMask && legal != nil {
			s.Legal = legal(l.Start.Env, params)
		}
		return s
	})(lanes)
	out.Observation, out.Legal = s.Observation, s.Legal
	if x.mode != sameStep {
		out.Final = nil
	}
	return out
}

// play steps all lanes.
func (x *vector) stepAll(lanes lane, actions *graph.Array) stepResult {
	moved := graph.VMap2(x.stepOne)(lanes, actions)
	after, out := moved.Lanes, moved.Timestep
	switch x.mode {
	case sameStep:
		after = x.autoreset(after, after.Done)
	case nextStep:
		// A lane that was done only begins its next episode.
		kept := graph.VMap2(func(was, after lane) lane { return graph.SelectTree(was.Done, was, after) })(lanes, after)
		after = x.autoreset(kept, lanes.Done)
		out.Reward = graph.Select(lanes.Done, 0, out.Reward)
		out.Terminated = out.Terminated.And(lanes.Done.Not())
		out.Truncated = out.Truncated.And(lanes.Done.Not())
		out.Bad = out.Bad.And(lanes.Done.Not())
	}
	return stepResult{after, x.observe(after, out)}
}

// resetOptions say which lanes are reset, and to which episodes.
type resetOptions struct {
	Seed *graph.Array // u32[2]
	Mask *graph.Array // bool[]: begin an episode
	New  *graph.Array // bool[]: the first one of Seed, not the next one
}

// resetAll begins episodes by the options of all lanes.
func (x *vector) resetAll(lanes lane, o resetOptions) stepResult {
	lanes = graph.VMap2(func(l lane, o resetOptions) lane {
		seed := graph.Select(o.New, run.EpisodesKeyOf(random.Key{Data: o.Seed}).Data, l.Seed.Data)
		number := graph.Select(o.New, 0, l.Episode.Add(1))
		return graph.SelectTree(o.Mask, x.firstEpisode(random.Key{Data: seed}, number), l)
	})(lanes, o)
	none := graph.Zeros(graph.ShapeOf(graph.Bool, x.lanes))
	out := x.observe(lanes, timestep{Reward: graph.Zeros(graph.ShapeOf(graph.Float32, x.lanes)), Terminated: none,
		Truncated: none, Bad: none})
	if x.mode == sameStep {
		out.Final = out.Observation
	}
	return stepResult{lanes, out}
}

// compile compiles both programs and lays out the memory.
func (x *vector) compile() error {
	spec, n := x.rollout.Env.Spec(), x.lanes
	ofEach := func(shape graph.Shape) graph.Shape {
		return graph.ShapeOf(shape.DType, append([]int{n}, shape.Dims...)...)
	}
	var lanes lane
	in := x.rollout.Inputs()
	x.inputs = graph.Leaves(in)
	if err := graph.Try(func() {
		one := graph.EvalShape(func() lane { return x.firstEpisode(random.New(0), graph.Scalar(0, graph.Int32)) })
		lanes = graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Abstract(ofEach(a.Shape())) }, one)
	}); err != nil {
		return err
	}
	actions, seeds := ofEach(spec.Action.Shape()), graph.ShapeOf(graph.Uint32, n, 2)
	flags := graph.ShapeOf(graph.Bool, n)
	given := resetOptions{graph.Abstract(seeds), graph.Abstract(flags), graph.Abstract(flags)}
	var result stepResult
	if err := graph.Try(func() {
		result = graph.EvalShape(func() stepResult {
			return x.resetAll(graph.ZerosLikeTree(lanes), graph.ZerosLikeTree(given))
		})
	}); err != nil {
		return err
	}
	// before and after a step, zeros on the host at first, and the timesteps in two slots
	const heldResults = 4
	if err := x.server.checkMemory("num_envs", n, 1, heldResults*graph.TreeBytes(result)/int64(n), 0); err != nil {
		return err
	}
	small := graph.TreeBytes(result) <= mostPacked
	x.packing = graph.NewPacking(result, func(s graph.Shape) graph.DType {
		switch {
		case !small:
			return graph.NotPacked
		case graph.ItemSize(s.DType) == 4:
			return graph.Uint32
		}
		return s.DType
	})
	for _, a := range x.packing.Abstract() {
		x.state = append(x.state, graph.ZerosLike(a))
	}
	var err error
	purpose := fmt.Sprintf("%d x %s", n, spec.ID)
	x.reset, err = x.program("reset", purpose, []any{x.state, given, in}, []int{0}, func(args []any) any {
		last := x.packing.Unpack(args[0].([]*graph.Array)).(stepResult)
		return x.pack(x.bound(args[2]).resetAll(last.Lanes, args[1].(resetOptions)))
	})
	if err != nil {
		return err
	}
	x.step, err = x.program("step", purpose, []any{x.state, graph.Abstract(actions), in}, []int{0},
		func(args []any) any {
			// As one function, a step has no operations that XLA's runtime hands to other threads.
			state := args[0].([]*graph.Array)
			time := x.packing.Unpack(state).(stepResult).Lanes.Time.Index(0)
			return graph.Isolate(time.Add(1), state, args[1].(*graph.Array),
				func(state []*graph.Array, actions *graph.Array) []*graph.Array {
					last := x.packing.Unpack(state).(stepResult)
					return x.pack(x.bound(args[2]).stepAll(last.Lanes, actions))
				})
		})
	if err != nil {
		return err
	}
	m := x.memory
	x.action, err = m.add("action", actions)
	for _, f := range []struct {
		to    *int
		name  string
		shape graph.Shape
	}{{&x.seeds, "seed", seeds}, {&x.mask, "mask", flags}, {new(int), "new", flags}} {
		if err == nil {
			*f.to, err = m.add(f.name, f.shape)
		}
	}
	leaves, tree := graph.Flatten(result.Timestep)
	x.results = len(m.fields)
	for i, a := range leaves {
		if err == nil {
			_, err = m.add(strings.ToLower(strings.TrimPrefix(tree.Path(i), ".")), a.Shape())
		}
	}
	return err
}

// mostPacked is the size of a state and its results, in bytes, above which copying them into few arrays takes longer
// than the calls with more arrays.
var mostPacked int64 = 1 << 19

// pack returns the arrays of a step.
func (x *vector) pack(s stepResult) []*graph.Array {
	return x.packing.Pack(graph.Once(s)) // else the compiler would compute them element by element
}

// resetLanes begins episodes of the lanes of the mask in a slot.
func (x *vector) resetLanes(slot int) error {
	var given []*graph.Array // resetOptions
	for f := x.seeds; f <= x.mask+1; f++ {
		given = append(given, x.memory.read(slot, f))
	}
	x.began = true
	return x.run(slot, x.reset, given)
}

// stepLanes plays the actions in a slot.
func (x *vector) stepLanes(slot int) error {
	if !x.began {
		return console.BadInput("step: got actions before the first reset, want reset first")
	}
	return x.run(slot, x.step, []*graph.Array{x.memory.read(slot, x.action)})
}

// run runs a program of the lanes and writes what is seen into a slot.
func (x *vector) run(slot int, p *xlabridge.Compiled, given []*graph.Array) error {
	out, err := call(p, x.state, given, x.inputs)
	if err != nil {
		return err
	}
	x.state = out
	m, lanes := x.memory, len(x.packing.Shapes())-(len(x.memory.fields)-x.results) // the first leaves, not to be seen
	return x.packing.View(out, func(leaf int, elements []byte) {
		if leaf >= lanes {
			copy(m.at(slot, x.results+leaf-lanes), elements)
		}
	})
}
