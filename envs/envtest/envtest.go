// Package envtest checks an environment against its Spec and the interfaces of package envs. A family of environments
// needs one test:
//
//	for _, id := range envs.IDs() {
//		env, err := envs.Make(id)
//		require.NoError(t, err)
//		require.NoError(t, envtest.Check(env))
//	}
package envtest

import (
	"fmt"
	"image"
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

const (
	lanes   = 4    // members that play together
	longest = 1000 // maximum number of an episode's steps that Check checks
	short   = 12   // maximum number of steps that are repeated
)

// Check plays random episodes on the reference interpreter, raw and under envs.AutoReset, and returns the first error.
// It checks
//
//   - shapes, dtypes and bounds of observations, actions, rewards, terminated, truncated, masks, players, descriptors
//     and objectives; Spec.MaxReward is the bound of rewards;
//   - that Spec and Traits agree;
//   - that equal keys give equal episodes: alone, as a lane of VMap, and with parameters for each lane;
//   - that no random key is consumed twice in an episode, and no constant key in each step (random.CheckKeys);
//   - that states can be the carry of a scan and can be drawn;
//   - for games, that illegal actions lose and that finished games stay finished.
//
// It checks the first 1,000 steps of an episode. It does not check the dynamics.
func Check(env envs.Environment) error { return CheckSteps(env, longest) }

// CheckSteps is Check for the given number of an episode's first steps, 1 or more.
func CheckSteps(env envs.Environment, steps int) error {
	spec := env.Spec()
	if err := checkSpec(spec, envs.TraitsOf(env)); err != nil {
		return fmt.Errorf("envtest: %w", err)
	}
	for _, form := range []struct {
		name string
		env  envs.Environment
	}{{"", env}, {", auto-reset", envs.Erase(envs.AutoReset(env))}} {
		c := &checker{env: form.env, spec: form.env.Spec(), traits: envs.TraitsOf(form.env), raw: form.name == "",
			steps: steps}
		err := graph.Try(func() {
			c.params = form.env.DefaultParams()
			graph.Leaves(c.params) // names a nil leaf
		})
		if err == nil {
			err = inRange(c.params)
		}
		var episodes visit
		lives := func() (err error) {
			episodes, err = c.lives()
			return err
		}
		repeats := func() error { return c.repeats(episodes) }
		for _, check := range []func() error{lives, c.keys, repeats, c.ownParameters, c.draws} {
			if err == nil {
				err = check()
			}
		}
		if err != nil {
			return fmt.Errorf("envtest: %s%s: %w", spec.ID, form.name, err)
		}
	}
	return nil
}

// First plays one step on the reference interpreter. It returns the first error that would stop a run or make it wrong:
// a panic, a nil or a wrong shape in one of the environment's methods, with the line where it is known, and a Step
// whose observation is not what Observe gives.
func First(env envs.Environment, params any) error {
	var err error
	thrown := envs.Try(func() {
		c := &checker{env: env, spec: env.Spec(), traits: envs.TraitsOf(env), params: params, first: true}
		var v visit
		if v, err = run(c.episode(1, params), random.New(7)); err != nil {
			return
		}
		var same []float64
		if same, err = graph.Floats(v.Observed); err == nil && same[0] == 0 {
			err = &graph.Error{Where: envs.Line(env, "Step"), Op: c.spec.ID + ": the observation of Step",
				Msg: "it is not what Observe gives for the next state, want the same: loops carry only states, and " +
					"observe them"}
		}
	})
	if thrown != nil {
		return thrown
	}
	return err
}

// checkSpec checks a Spec, and compares it with the environment's traits.
func checkSpec(s envs.Spec, p envs.Traits[any, any]) error {
	if err := s.Check(); err != nil {
		return err
	}
	for _, claim := range []struct {
		what        string
		says, holds bool
	}{
		{"Players > 1 and methods Player and Rewards", s.Players > 1, p.Player != nil},
		{"LegalMask and a method Legal", s.LegalMask, p.Legal != nil},
		{"Descriptor and a method Describe or DescribeStep", len(s.Descriptor.Dims) > 0,
			p.Describe != nil || p.DescribeStep != nil},
		{"Objectives and a method Objectives", len(s.Objectives) > 0, p.Objectives != nil},
		{"Reports and a method Report", len(s.Reports) > 0, p.Report != nil},
	} {
		if claim.says != claim.holds {
			return fmt.Errorf("the Spec of %q: %s belong together: the Spec says %v, the environment has them: %v",
				s.ID, claim.what, claim.says, claim.holds)
		}
	}
	if p.Describe != nil && p.DescribeStep != nil {
		return fmt.Errorf("the environment %q has Describe and DescribeStep, want one of them: an episode has one "+
			"descriptor", s.ID)
	}
	return nil
}

// inRange checks the parameters against the ranges in their tags.
func inRange(params any) error {
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		within := envs.RangeOf(params, tree.Path(i))
		v, err := graph.Floats(a)
		if err != nil {
			return err
		}
		for _, x := range v {
			if !within.Holds(x) {
				return fmt.Errorf("DefaultParams has %g at %s, whose tags want a number%s", x, tree.Path(i), within)
			}
		}
	}
	return nil
}

type checker struct {
	env    envs.Environment
	spec   envs.Spec
	traits envs.Traits[any, any]
	params any
	raw    bool
	first  bool // called by First
	steps  int  // of an episode, at most
}

// keys looks for random keys that an episode consumes twice.
func (c *checker) keys() (err error) {
	reused := random.CheckKeys(func() {
		_, err = graph.Trace("envtest", func(key random.Key) any {
			state, _ := c.env.Reset(random.FoldIn(key, 0), c.params)
			end, _ := graph.Scan(func(state any, i *graph.Array) (any, graph.None) {
				next, _, _, _, _ := c.env.Step(random.FoldIn(key, i), state, graph.Zeros(c.spec.Action.Shape()),
					c.params)
				return next, graph.None{}
			}, state, graph.Iota(short).Add(1))
			return end
		}, random.New(15))
	})
	if err != nil {
		return err
	}
	return reused
}

// repeats plays the first steps of the episodes of lives again, from another trace. Then it plays the first and the
// last lane alone. A wrong index often gives the values of one lane to all.
func (c *checker) repeats(episodes visit) error {
	keys, steps := random.Split(random.New(livesSeed), lanes), min(short, episodes.Reward.Dim(1))
	played := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 1, 0, steps) }, episodes)
	again, err := run(graph.VMap(c.episode(steps, c.params)), keys)
	if err != nil {
		return err
	}
	if err := same("two episodes with the same key", again, played); err != nil {
		return err
	}
	play := runner(c.episode(steps, c.params))
	for _, lane := range []int{0, lanes - 1} {
		alone, err := play(random.Key{Data: keys.Data.Index(lane)})
		if err != nil {
			return err
		}
		if err := same(fmt.Sprintf("an episode alone and as lane %d of a vmap", lane), alone,
			laneOf(played, lane)); err != nil {
			return err
		}
	}
	return nil
}

// ownParameters makes different parameters for the lanes: the defaults, and all floats times 1.25.
func (c *checker) ownParameters() error {
	scaled := func(by float64) any {
		return graph.MapTree(func(a *graph.Array) *graph.Array {
			if !a.DType().IsFloat() {
				return a
			}
			return a.Mul(by)
		}, c.params)
	}
	if len(graph.Leaves(c.params)) == 0 {
		return nil
	}
	key := random.New(13)
	both := graph.MapTree2(func(a, b *graph.Array) *graph.Array {
		return graph.Stack([]*graph.Array{a, b}, 0)
	}, scaled(1), scaled(1.25))
	together, err := run(graph.VMap(func(p any) visit { return c.episode(1, p)(key) }), both)
	if err != nil {
		return err
	}
	play := runner(func(p any) visit { return c.episode(1, p)(key) })
	for lane, by := range []float64{1, 1.25} {
		alone, err := play(scaled(by))
		if err != nil {
			return err
		}
		if err := same(fmt.Sprintf("parameters times %v alone and as a lane", by), alone,
			laneOf(together, lane)); err != nil {
			return err
		}
	}
	return nil
}

// draws paints the first state.
func (c *checker) draws() error {
	if c.traits.Draw == nil {
		return nil
	}
	state, err := run(func(key random.Key) any {
		s, _ := c.env.Reset(key, c.params)
		return s
	}, random.New(14))
	if err != nil {
		return err
	}
	size := image.Pt(64, 48)
	img, err := c.traits.Draw(state, size)
	if err != nil {
		return fmt.Errorf("the state that Reset gave cannot be drawn: %w", err)
	}
	if got := img.Bounds().Size(); got != size {
		return fmt.Errorf("the picture has %v pixels, want %v", got, size)
	}
	return nil
}

// run traces f and runs it on the reference interpreter.
func run[A, R any](f func(A) R, a A) (out R, err error) { return runner(f)(a) }

// runner returns f on the reference interpreter. It is traced once, for the first argument, which the others are like.
func runner[A, R any](f func(A) R) func(a A) (R, error) {
	var p *graph.Program
	return func(a A) (out R, err error) {
		if p == nil {
			if p, err = graph.Trace("envtest", f, a); err != nil {
				return out, err
			}
		}
		leaves, err := p.Interpret(graph.Leaves(a), nil)
		if err != nil {
			return out, err
		}
		out, _ = p.OutTree().Unflatten(leaves).(R)
		return out, nil
	}
}

func laneOf(v visit, lane int) visit {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.Index(lane) }, v)
}

// same compares two trees bit by bit.
func same(what string, a, b visit) error {
	x, tree := graph.Flatten(a)
	y := graph.Leaves(b)
	if len(x) != len(y) {
		return fmt.Errorf("%s have %d and %d leaves", what, len(x), len(y))
	}
	for i := range x {
		v, err := graph.ToTensor(x[i])
		if err != nil {
			return err
		}
		w, err := graph.ToTensor(y[i])
		if err != nil {
			return err
		}
		if !v.Shape.Equal(w.Shape) || !slices.Equal(v.V, w.V) {
			return fmt.Errorf("%s differ in %s: %v and %v", what, tree.Path(i), v.Floats(), w.Floats())
		}
	}
	return nil
}
