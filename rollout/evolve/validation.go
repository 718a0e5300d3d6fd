package evolve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// ValidationSettings say what the mean of a search must reach on other episodes before the run ends at its target. The
// champions of Stanley and Miikkulainen, "Evolving neural networks through augmenting topologies" (2002), had to
// balance two poles for 100,000 steps.
type ValidationSettings struct {
	ValidationTarget float64 `set:"validation-target" program:"no" resume:"goal" max:"3e38" zero:"no validation" help:"return that the mean of the search, less its standard error, must have in a validation, too, before the run ends at its target; with --target 0 each evaluation has a validation, and none ends the run; 0: no validation"`
	// ValidationEpisodes is the number of a validation's new episodes.
	ValidationEpisodes int `set:"validation-episodes" needs:"validation-target=!0" program:"no" resume:"goal" min:"1" max:"65536" help:"new episodes of a validation"`
	ValidationSteps    int `set:"validation-steps" needs:"validation-target=!0" program:"no" resume:"goal" min:"0" max:"16777216" zero:"as --steps" help:"environment steps of a validation's episode; 0: as --steps"`
	// ValidationParam is added to the parameters of the environment.
	ValidationParam settings.Pairs `set:"validation-param" needs:"validation-target=!0" program:"no" resume:"goal" zero:"those of --env-param" wants:"NAME=VALUE, a number or a range as 0.1..0.3; each name once, commas between" help:"parameter of the environment in validations, which goes before --env-param; repeatable"`
}

// validationReturn is the metric of the return in a validation: -Inf where an episode had a return that is not finite.
// The row of a generation without a validation has none.
const validationReturn = "validation_return"

// validationError is the metric of the standard error of that; NaN of one episode.
const validationError = "validation_std_error"

// validationKey is folded into the seed's key for the episodes of validations. No training and no judge uses it.
const validationKey = 0x6578616d

// validated returns the config with the settings of a validation's episodes.
func (c *Config) validated() Config {
	other := c.clone()
	other.Episodes, other.Target = 1, "0" // the target is of the other episodes
	if c.ValidationSteps > 0 {
		other.Steps = c.ValidationSteps
	}
	for name, text := range c.ValidationParam {
		other.EnvParam = other.EnvParam.With(name, text)
	}
	return other
}

// checkValidation refuses a validation that cannot be held.
func (c *Config) checkValidation() error {
	if c.ValidationTarget == 0 {
		return nil
	}
	other := c.validated()
	r, err := other.Rollout()
	if wrong, ok := errors.AsType[*settings.Error](err); ok && wrong.Key == "env-param" {
		return &settings.Error{Key: "validation-param", Got: wrong.Got, Wants: wrong.Wants}
	}
	if err != nil {
		return err
	}
	trained, err := c.Rollout()
	if err != nil {
		return err
	}
	if math.IsNaN(c.Goal(trained.Env.Spec())) && c.EvalEnvs == 0 {
		return settings.Wrong("validation-target", c.ValidationTarget, "0 without a target and without evaluations: "+
			"set target or eval-envs, too")
	}
	if most := run.LargestReturn(r.Env.Spec(), r.Steps); c.ValidationTarget > most {
		return settings.Wrong("validation-target", c.ValidationTarget, "at most %g, the largest return of a "+
			"validation's %d steps of %s", most, r.Steps, c.Env)
	}
	if a, b := r.Env.Spec(), trained.Env.Spec(); !reflect.DeepEqual(a.Observation, b.Observation) ||
		!reflect.DeepEqual(a.Action, b.Action) {
		return settings.Wrong("validation-param", c.ValidationParam.String(),
			"parameters that leave the observations %v and the actions %v as they are", b.Observation.Shape(), b.Action)
	}
	return nil
}

// Remark adds a remark about the steps of a validation.
func (c *Config) Remark() string {
	remark := c.Search.Remark()
	if c.ValidationTarget != 0 && c.ValidationSteps > 0 {
		other := c.validated()
		if own := other.Search.StepsRemark("validation-steps"); own != "" && remark != "" {
			return remark + "; " + own
		} else if own != "" {
			return own
		}
	}
	return remark
}

// newValidation compiles the validation of members like one.
func newValidation(b xlabridge.Backend, c *Config, devices int, member any) (*episode.ActingEvaluator, error) {
	other := c.validated()
	r, err := other.Rollout()
	if err != nil {
		return nil, err
	}
	r.Plan.Devices = devices
	return episode.NewActingEvaluator(b, r, member, 1, c.ValidationEpisodes, math.MaxInt, c.Purpose()+", validation")
}

// validationScore returns the score of a member in the way to act in which it is better. Its mean is -Inf if an episode
// failed in each way.
func validationScore(validation *episode.ActingEvaluator, member any, key random.Key) (s episode.EvalScore, err error) {
	judgments, err := validation.PlayAll([]any{member}, key)
	if err != nil {
		return s, err
	}
	if s = slices.MinFunc(judgments[0], episode.EvalResult.Compare).Score(); s.Failed > 0 {
		s.Mean, s.Error = math.Inf(-1), math.NaN()
	}
	return s, nil
}

// mean returns the strategy's Mean. Only the arrays that it depends on leave the devices.
func (e *Evolution) mean() (member any, err error) {
	s, err := e.Loop.State()
	if err != nil {
		return nil, err
	}
	return e.program.Mean(s.(generation.State))
}

// validation is the feature: it compiles the validation at the start, so that a run that cannot hold it fails then.
type validation struct {
	idle
	judge  *episode.ActingEvaluator
	failed bool // the mean has not passed a validation
}

func openValidation(_ context.Context, e *Evolution) (feature, error) {
	x := &validation{}
	return x, x.replaced(e)
}

// replaced compiles the validation anew if it cannot play members of the current search.
func (x *validation) replaced(e *Evolution) error {
	mean, err := e.mean()
	if err != nil || x.judge != nil && x.judge.Fits(mean) {
		return err
	}
	if err := x.close(); err != nil {
		return err
	}
	if x.judge, err = newValidation(e.backend, &e.config, e.Profile().Devices, mean); err != nil {
		return err
	}
	x.judge.OnProgress = func(done, total int) { e.Loop.Counter().Stage("episodes of the validation", done, total) }
	return nil
}

// after holds a validation if the run has reached its target. The run goes on if the mean does not pass. The first time
// that is a notice. A run without a target has a validation with each evaluation.
func (x *validation) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	ends := m.Done
	if !ends && !(math.IsNaN(e.target) && e.config.EvalDue(m.Step)) {
		return nil
	}
	mean, err := e.mean()
	if err != nil {
		return err
	}
	key := random.FoldIn(random.FoldIn(random.New(e.search.config.Seed), validationKey), e.Steps())
	score, err := validationScore(x.judge, mean, key)
	if err != nil {
		return err
	}
	m.Done = ends && score.Passes(e.config.ValidationTarget)
	if ends && !m.Done && !x.failed {
		x.failed = true
		m.Notices = append(m.Notices, fmt.Sprintf("the target is reached, but the mean has not passed the "+
			"validation: %v of the %.6g wanted (--validation-target); the run goes on", score,
			e.config.ValidationTarget))
	}
	m.Values = append(m.Values, run.Value{Name: validationReturn, Number: score.Mean},
		run.Value{Name: validationError, Number: score.Error})
	return nil
}

// validationBoard shows the return in the last validation.
func (c *Config) validationBoard() []run.DisplayRow {
	return []run.DisplayRow{{Label: "validation", Plain: true, Gaps: true, Parts: []run.Part{{Metric: validationReturn},
		{Before: " ± ", Metric: validationError}, {Before: fmt.Sprintf(", target %.6g", c.ValidationTarget)}}}}
}

func (x *validation) ending(e *Evolution, last run.Metrics) string {
	score, ok := last.Get(validationReturn)
	if !ok {
		return ""
	}
	if math.IsInf(score, -1) {
		return "; the validation failed: returns of its episodes are not finite"
	}
	return fmt.Sprintf("; %v in the validation, which wants %.6g",
		episode.EvalScore{Mean: score, Error: last.Number(validationError)}, e.config.ValidationTarget)
}

func (x *validation) close() error {
	if x.judge == nil {
		return nil
	}
	return x.judge.Close()
}
