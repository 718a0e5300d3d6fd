package main

import (
	"context"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name: "search", Short: "Draw members at random and keep the best", Argument: "env", Version: 1,
		Unit: "generation", Length: "generations", Work: "environment steps of all members",
		New: func() run.Experiment {
			return &Search{
				EpisodeSettings: run.EpisodeSettings{
					EnvSettings:  run.EnvSettings{Env: "TMaze-v0", Policy: "memory:8"},
					GoalSettings: run.GoalSettings{Target: "auto", EvalEpisodes: 100},
					Steps:        12, Episodes: 16,
				},
				Members: 512, Generations: 50,
			}
		},
	})
}

// Search is random search.
type Search struct {
	run.EpisodeSettings
	run.Common
	Members     int `set:"members" min:"1" max:"1048576" help:"members that are drawn in a generation"`
	Generations int `set:"generations" program:"no" resume:"any" min:"1" max:"1073741823" help:"generations at most"`
}

// Job says what is run, until which generation, and which setting the memory grows with.
func (s *Search) Job() *run.Job {
	return s.Plays(run.Job{Last: int64(s.Generations), Board: s.Board, Start: s.Start, Size: "members"}, s.Rollout)
}

// Board shows the best return so far and the mean of a generation.
func (s *Search) Board() []run.DisplayRow { return run.Curves("best_return", "mean_return") }

// State is the state of the search.
type State struct {
	Key        random.Key
	Generation *graph.Array // i32[]: generations done
	Best       any          // the parameters of the member with the highest return so far
	Return     *graph.Array // f32[]: its return
}

// Start compiles a generation for a backend.
func (s *Search) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	play, err := s.PopulationRollout(b, s.Devices, s.Members)
	if err != nil {
		return nil, err
	}
	key := random.New(s.Seed)
	first := State{Key: key, Generation: envs.Steps(0), Best: play.Policy.Init(key),
		Return: graph.Scalar(math.Inf(-1))}
	loop, err := run.NewLoop(b, run.LoopOptions{
		Name: "generation", Purpose: "search " + settings.Words(s), Plan: play.Plan, Work: play.EnvSteps(),
		Metrics: []string{"best_return", "mean_return"},
		Goal:    run.Value{Name: "best_return", Number: s.Goal(play.Env.Spec())},
	}, first, play.Inputs(), func(now State, in episode.PopulationInputs) (State, *graph.Array) {
		return generation(play, now, in)
	})
	if err != nil {
		return nil, err
	}
	return run.WithCandidates(loop, func(s State) []run.Candidate {
		return []run.Candidate{{Name: "best_ever", Params: s.Best}}
	}), nil
}

// generation draws members and plays them. It keeps only their returns, and draws the best again from its key.
func generation(play *episode.PopulationRollout, s State, in episode.PopulationInputs) (State, *graph.Array) {
	key := random.FoldIn(s.Key, s.Generation)
	member := func(_ *graph.Array, key random.Key) any { return play.Policy.Init(key) }
	returns := play.Play(in, key, member).Fitness()
	at := returns.ArgMax(0)
	found, top := play.Policy.Init(play.Key(key, at)), graph.DynamicIndex(returns, at, 0)
	better := top.Gt(s.Return)
	next := State{Key: s.Key, Generation: s.Generation.Add(1), Return: graph.Select(better, top, s.Return)}
	next.Best = graph.SelectTree(better, found, s.Best)
	return next, graph.Stack([]*graph.Array{next.Return, returns.Mean()}, 0)
}
