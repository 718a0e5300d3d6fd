package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// EnvSettings has the environment and the policy: the settings that a member needs to be played again. An experiment
// that embeds it has the policy's settings among its own.
type EnvSettings struct {
	Env string `set:"env" help:"environment, also given as the argument"`
	// EnvParam has parameters of the environment by name: a number, or a range such as "0.1..0.3", from which each
	// episode of each member draws one.
	EnvParam settings.Pairs `set:"env-param" zero:"the environment's own" wants:"NAME=VALUE, a number or a range as 0.1..0.3; each name once, commas between" help:"parameter of the environment and its value, walls=0.2, or a range from which each episode draws, walls=0.1..0.3; repeatable"`
	Policy   string         `set:"policy" help:"network of a member"`
	// Parted are the settings of the parts: "policy.hidden".
	Parted settings.Values
}

// GoalSettings says when a run whose members play is done, and how members are evaluated.
type GoalSettings struct {
	// Target is the mean return at which the run ends: a number, "auto" for the environment's, "0" for none.
	Target string `set:"target" program:"no" resume:"goal" number:"" wants:"a mean return, 0 for none, or auto for the environment's" help:"mean return less its error to end at; 0: none; auto: the environment's"`
	// EvalEpisodes is the number of new episodes on which a member is evaluated.
	EvalEpisodes int `set:"eval-episodes" advanced:"" program:"no" resume:"any" min:"1" max:"65536" help:"new episodes by which members are judged before one of them is called the best"`
}

// EpisodeSettings has the settings of experiments whose members play episodes. An experiment that embeds it has the
// policy's settings among its own, and the methods Plays, Goal, Rollout and PopulationRollout.
type EpisodeSettings struct {
	EnvSettings
	Steps    int `set:"steps" min:"1" max:"16777216" help:"environment steps of an episode"`
	Episodes int `set:"episodes" min:"1" max:"65536" help:"episodes of a member, of which the mean counts"`
	GoalSettings
	// Sample is the number of members whose trajectories are written at the run's end.
	Sample int `set:"sample" advanced:"" program:"no" resume:"any" min:"0" max:"1000" help:"members of the population whose episodes are written to trajectories.safetensors at the run's end: observations, actions, rewards"`
}

// Parts returns the policy. An experiment with further parts overrides it.
func (s *EnvSettings) Parts() []settings.Part { return []settings.Part{policy.Part()} }

// Own returns the settings of the parts.
func (s *EnvSettings) Own() *settings.Values { return &s.Parted }

// Plays completes the job of an experiment that embeds p: with its title, and with how members play, which rollout
// returns. That is p.Rollout, unless the experiment changes it.
func (p *EpisodeSettings) Plays(job Job, rollout func() (*episode.Rollout, error)) *Job {
	job.Title, job.Suggested, job.Remark = p.Env, p.Suggested, p.Remark
	job.Play = &Play{Rollout: rollout, EvalEpisodes: p.EvalEpisodes, Goal: p.Goal, Sampled: p.Sample}
	return &job
}

// stepLimit is the name of the parameter of an environment that ends its episodes.
const stepLimit = "max-steps"

// limit returns the steps after which the environment ends an episode; 0 if that is not known.
func (p *EpisodeSettings) limit() (steps int) {
	_ = envs.Try(func() { // a user's environment may panic; the check of the settings says so
		env, err := envs.Make(p.Env)
		if err != nil {
			return
		}
		env, given, err := episode.ReadEnvParams(env, p.EnvParam)
		if err != nil {
			return
		}
		steps = limitOf(env, given)
	})
	return steps
}

// limitOf returns the steps after which an environment with some parameters ends an episode; 0 if that is not known.
func limitOf(env envs.Environment, given []episode.EnvParam) int {
	for _, param := range given {
		if param.Name == stepLimit {
			return int(param.High)
		}
	}
	return env.Spec().MaxSteps
}

// Suggested shortens the episodes to the step limit of the environment: all later steps would be computed for nothing.
func (p *EpisodeSettings) Suggested() settings.Values {
	values := settings.Values{}
	if limit := p.limit(); limit >= 1 && limit < p.Steps {
		values["steps"] = limit
	}
	return values
}

// Remark says that the environment ends episodes before the last of their steps, or that they are too short for the
// target of the environment.
func (p *EpisodeSettings) Remark() string {
	text := p.StepsRemark("steps")
	_ = envs.Try(func() {
		env, err := envs.Make(p.Env)
		if err != nil {
			return
		}
		spec := env.Spec()
		if x := p.GoalSettings.Goal(spec); !math.IsNaN(x) && math.IsNaN(p.Goal(spec)) {
			short := fmt.Sprintf("; no return of %d steps reaches the target of %s, %g, so the run has none (--target)",
				p.Steps, p.Env, x)
			text = strings.TrimPrefix(text+short, "; ")
		}
	})
	return text
}

// Goal returns the mean return at which the run ends; NaN if there is none, or if it is the environment's and no return
// of so few steps reaches it.
func (p *EpisodeSettings) Goal(spec envs.Spec) float64 {
	x := p.GoalSettings.Goal(spec)
	if (p.Target == auto || p.Target == "") && x > LargestReturn(spec, p.Steps) {
		return math.NaN()
	}
	return x
}

// LargestReturn returns what no return of an episode of at most so many steps exceeds; +Inf if it is not known. An
// episode has from one step to all.
func LargestReturn(spec envs.Spec, steps int) float64 {
	if spec.MaxReward == nil {
		return math.Inf(1)
	}
	return max(*spec.MaxReward, *spec.MaxReward*float64(steps))
}

// StepsRemark returns that remark, where another setting gives Steps.
func (p *EpisodeSettings) StepsRemark(setting string) string {
	limit := p.limit()
	if limit < 1 || limit >= p.Steps {
		return ""
	}
	return fmt.Sprintf("%s ends an episode at step %d: the later ones of --%s %d are computed and counted for "+
		"nothing", p.Env, limit, setting, p.Steps)
}

// Goal returns the mean return at which the run ends; NaN, which no return reaches, if there is none. Rollout has
// checked the setting.
func (a *GoalSettings) Goal(spec envs.Spec) float64 {
	x, err := a.goal(spec)
	if err != nil {
		return math.NaN()
	}
	return x
}

func (a *GoalSettings) goal(spec envs.Spec) (float64, error) {
	x := spec.RewardThreshold
	if a.Target != auto && a.Target != "" {
		var err error
		if x, err = strconv.ParseFloat(a.Target, 64); err != nil || x != x || math.IsInf(x, 0) {
			return 0, settings.Wrong("target", a.Target, "a mean return, 0 for none, or auto for the environment's")
		}
	}
	if x == 0 {
		return math.NaN(), nil
	}
	return x, nil
}

// auto is the Target for the environment's own threshold.
const auto = "auto"

// Rollout makes environment, policy and head, and checks them and the goal. It refuses games of several players. An
// error of a setting is a *settings.Error.
func (p *EpisodeSettings) Rollout() (*episode.Rollout, error) {
	return p.EnvSettings.Rollout(&p.GoalSettings, p.Steps, p.Episodes)
}

// Rollout makes environment, policy and head for a number of episodes with at most so many steps each; see
// EpisodeSettings.Rollout.
//
// A panic in the environment or the policy is an error with its line. The first step of each environment is checked;
// see envtest.First.
func (s *EnvSettings) Rollout(aim *GoalSettings, steps, episodes int) (r *episode.Rollout, err error) {
	if thrown := envs.Try(func() { r, err = s.rollout(aim, steps, episodes) }); thrown != nil {
		return nil, thrown
	}
	if err != nil {
		return nil, err
	}
	program := s.Env + " " + s.EnvParam.Shape(s.Env)
	if _, checked := firstSteps.Load(program); !checked {
		params, _ := r.ParamsOf(random.New(0))
		if err := envtest.First(r.Env, params); err != nil {
			return nil, err
		}
		firstSteps.Store(program, true)
	}
	return r, nil
}

// firstSteps has the environments whose first step has been checked, with the sizes among their parameters.
var firstSteps sync.Map

func (s *EnvSettings) rollout(aim *GoalSettings, steps, episodes int) (*episode.Rollout, error) {
	env, err := envs.Make(s.Env)
	if _, _, scheme := envs.SchemeOf(s.Env); err != nil && scheme {
		return nil, settings.Wrong("env", s.Env, "an environment that can be opened: %s", err)
	}
	if err != nil {
		return nil, settings.Unknown("env", s.Env, envs.IDs())
	}
	env, given, err := episode.ReadEnvParams(env, s.EnvParam)
	if err != nil {
		return nil, err
	}
	spec := env.Spec()
	if err := spec.Check(); err != nil {
		return nil, settings.Wrong("env", s.Env, "an environment whose Spec is complete: %s", err)
	}
	if spec.Players > 1 {
		return nil, settings.Wrong("env", s.Env, "an environment of one player: in this one %d move in turn, and "+
			"here each member plays by itself", spec.Players)
	}
	target, err := aim.goal(spec)
	if err != nil {
		return nil, err
	}
	played := steps
	if limit := limitOf(env, given); limit > 0 {
		played = min(steps, limit)
	}
	if most := LargestReturn(spec, played); aim.Target != auto && aim.Target != "" && target > most {
		return nil, settings.Wrong("target", aim.Target, "at most %g, the largest return of %d steps of %s", most,
			played, s.Env)
	}
	net, head, err := policy.Make(s.Policy, s.Parted.Under("policy."), spec.Observation, spec.Action)
	if err != nil {
		return nil, err
	}
	return &episode.Rollout{Env: env, Given: given, Policy: net, Head: head, Steps: steps, Episodes: episodes}, nil
}

// PopulationRollout is Rollout for a population of so many members. It is laid out by the plan's rule on the first
// devices of a backend; 0: on all.
func (p *EpisodeSettings) PopulationRollout(b xlabridge.Backend, devices, members int) (
	*episode.PopulationRollout, error) {
	if err := settings.Check(p); err != nil {
		return nil, err
	}
	if members < 1 {
		return nil, fmt.Errorf("got a population of %d members, want 1 or more", members)
	}
	r, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	on := plan.MachineOf(b, devices)
	if devices > on.Devices {
		return nil, settings.Wrong("devices", devices, "at most the %d that the backend was opened with", on.Devices)
	}
	if devices == 0 {
		devices = on.Devices
	}
	reads, err := r.Reads()
	if err != nil {
		return nil, err
	}
	batch := plan.EpisodeBatch(p.Episodes, reads.Member(), on.Accelerator)
	r.Plan = plan.Plan{Devices: devices, Tile: plan.TilingOf(members, 1, reads, batch, on.Accelerator).Tile(),
		Unroll: plan.DefaultUnroll(r.Steps, on.Accelerator), EpisodeBatch: batch}
	if on.CPU {
		r.Plan.VectorWidth = plan.VectorWidth
	}
	return &episode.PopulationRollout{Rollout: r, Tiles: population.CutTiles(members, r.Plan.Tile, devices)}, nil
}
