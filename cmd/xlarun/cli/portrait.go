package cli

import (
	"image"
	"time"

	"xlarun/cmd/xlarun/runfolder"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/policy"
)

const (
	// portraitFrames is the most frames of a picture; a longer episode is shown with steps left out.
	portraitFrames = 200
	// portraitTime is the most time that a picture may take; what was played until then is shown.
	portraitTime = 3 * time.Second
	frameDelay   = 40 * time.Millisecond
)

var portraitSize = image.Pt(320, 200)

// portrait plays one episode of a member with the reference interpreter and makes a GIF of it; nil where the
// environment cannot be drawn.
func portrait(c evolve.Config, params any) ([]byte, error) {
	env, err := envs.Make(c.Env)
	if err != nil {
		return nil, err
	}
	drawer, ok := envs.DrawerOf(env)
	if !ok {
		return nil, nil
	}
	pol, err := policy.Make(c.Policy, env.Spec().Observation, env.Spec().Action)
	if err != nil {
		return nil, err
	}
	frames, err := film(env, drawer, pol, params, c)
	if err != nil {
		return nil, err
	}
	return runfolder.GIF(frames, frameDelay)
}

// moment is what an episode's step hands to the next.
type moment struct {
	State       any
	Observation *graph.Array
	Over        *graph.Array
}

func film(env envs.Environment, drawer envs.Drawer, pol policy.Policy, params any, c evolve.Config) (frames []image.Image, err error) {
	steps := min(c.Steps, env.Spec().MaxSteps)
	every := max(1, (steps+portraitFrames-1)/portraitFrames)
	key := random.New(c.Seed)
	start := time.Now()
	var now moment
	err = graph.Try(func() {
		state, obs := env.Reset(random.FoldIn(key, 0), env.DefaultParams())
		now = moment{state, obs, graph.Zeros(graph.ShapeOf(graph.Bool))}
	})
	if err != nil {
		return nil, err
	}
	if now, err = graph.Eval(now); err != nil {
		return nil, err
	}
	step, err := stepProgram(env, pol, params, key, now)
	if err != nil {
		return nil, err
	}
	for t := 1; ; t++ {
		over, err := graph.Floats(now.Over)
		if err != nil {
			return nil, err
		}
		last := over[0] != 0 || t > steps || time.Since(start) > portraitTime
		if last || (t-1)%every == 0 {
			frame, err := drawer.Draw(now.State, portraitSize)
			if err != nil {
				return nil, err
			}
			frames = append(frames, frame)
		}
		if last {
			return frames, nil
		}
		if now, err = step(now, t); err != nil {
			return nil, err
		}
	}
}

// stepProgram traces one step of the episode once, for the interpreter.
func stepProgram(env envs.Environment, pol policy.Policy, params any, key random.Key, first moment) (func(moment, int) (moment, error), error) {
	p, err := graph.Trace2("portrait", func(m moment, t *graph.Array) moment {
		action := pol.Act(params, m.Observation)
		state, obs, _, terminated, truncated := env.Step(random.FoldIn(key, t), m.State, action, env.DefaultParams())
		return moment{state, obs, graph.Or(terminated, truncated)}
	}, first, graph.Of(int32(1)))
	if err != nil {
		return nil, err
	}
	return func(m moment, t int) (moment, error) {
		out, err := p.Interpret(append(graph.Leaves(m), graph.Of(int32(t))), nil)
		if err != nil {
			return moment{}, err
		}
		return p.OutTree().Unflatten(out).(moment), nil
	}, nil
}
