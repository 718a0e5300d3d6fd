package evolve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// ExamSettings say what the centre of a search must reach on other episodes before the run ends at its target. The
// champions of Stanley and Miikkulainen, "Evolving neural networks through augmenting topologies" (2002), had to
// balance two poles for 100,000 steps.
type ExamSettings struct {
	ExamTarget float64 `set:"exam-target" program:"no" resume:"goal" max:"3e38" zero:"no exam" help:"mean return that the centre must have in an exam, too, before the run ends at its target; 0: no exam"`
	// ExamEpisodes is the number of an exam's fresh episodes.
	ExamEpisodes int `set:"exam-episodes" needs:"exam-target=!0" program:"no" resume:"goal" min:"1" max:"65536" help:"fresh episodes of an exam"`
	ExamSteps    int `set:"exam-steps" needs:"exam-target=!0" program:"no" resume:"goal" min:"0" max:"16777216" zero:"as --steps" help:"environment steps of an exam's episode; 0: as --steps"`
	// ExamParam is added to the parameters of the environment.
	ExamParam settings.Pairs `set:"exam-param" needs:"exam-target=!0" program:"no" resume:"goal" zero:"those of --env-param" wants:"NAME=VALUE, a number or a range as 0.1..0.3; each name once, commas between" help:"parameter of the environment in exams, which goes before --env-param; repeatable"`
}

// examReturn is the metric of the mean return of the centre in an exam: NaN where there was none, and -Inf where an
// episode had a return that is not finite.
const examReturn = "exam_return"

// examKey is folded into the seed's key for the episodes of exams. No training and no judge uses it.
const examKey = 0x6578616d

// examined returns the config with the settings of an exam's episodes.
func (c *Config) examined() Config {
	other := c.clone()
	other.Episodes = 1
	if c.ExamSteps > 0 {
		other.Steps = c.ExamSteps
	}
	for name, text := range c.ExamParam {
		other.EnvParam = other.EnvParam.With(name, text)
	}
	return other
}

// checkExam refuses an exam that cannot be held.
func (c *Config) checkExam() error {
	if c.ExamTarget == 0 {
		return nil
	}
	other := c.examined()
	r, err := other.Rollout()
	if wrong, ok := errors.AsType[*settings.Error](err); ok && wrong.Key == "env-param" {
		return &settings.Error{Key: "exam-param", Got: wrong.Got, Wants: wrong.Wants}
	}
	if err != nil {
		return err
	}
	trained, err := c.Rollout()
	if err != nil {
		return err
	}
	if math.IsNaN(c.Goal(trained.Env.Spec())) {
		return settings.Wrong("exam-target", c.ExamTarget, "0 without a target, since no run without one reaches an "+
			"exam: set target, too")
	}
	if reward := r.Env.Spec().MaxReward; reward != nil {
		// An episode has from one step to all.
		if most := max(*reward, *reward*float64(r.Steps)); c.ExamTarget > most {
			return settings.Wrong("exam-target", c.ExamTarget, "at most %g, the largest return of an exam's %d steps "+
				"of %s", most, r.Steps, c.Env)
		}
	}
	if a, b := r.Env.Spec(), trained.Env.Spec(); !reflect.DeepEqual(a.Observation, b.Observation) ||
		!reflect.DeepEqual(a.Action, b.Action) {
		return settings.Wrong("exam-param", c.ExamParam.String(), "parameters that leave the observations %v and the "+
			"actions %v as they are", b.Observation.Shape(), b.Action)
	}
	return nil
}

// Remark adds a remark about the steps of an exam.
func (c *Config) Remark() string {
	remark := c.Search.Remark()
	if c.ExamTarget != 0 && c.ExamSteps > 0 {
		other := c.examined()
		if own := other.Search.StepsRemark("exam-steps"); own != "" && remark != "" {
			return remark + "; " + own
		} else if own != "" {
			return own
		}
	}
	return remark
}

// newExam compiles the exam of members like one.
func newExam(b xlabridge.Backend, c *Config, member any) (*episode.ActingJudge, error) {
	other := c.examined()
	r, err := other.Rollout()
	if err != nil {
		return nil, err
	}
	return episode.NewActingJudge(b, r, member, 1, c.ExamEpisodes, math.MaxInt, c.Purpose()+", exam")
}

// examScore returns the mean return of a member, in the way to act in which it is higher; -Inf if an episode failed in
// each way.
func examScore(exam *episode.ActingJudge, member any, key random.Key) (mean float64, err error) {
	judgements, err := exam.PlayAll([]any{member}, key)
	if err != nil {
		return 0, err
	}
	mean = math.Inf(-1)
	for _, j := range judgements[0] {
		if j.Failed == 0 {
			mean = max(mean, j.Mean)
		}
	}
	return mean, nil
}

// centre returns the centre of the search. Only the arrays that it depends on leave the devices.
func (e *Evolution) centre() (member any, err error) {
	s, err := e.Loop.State()
	if err != nil {
		return nil, err
	}
	return e.program.Centre(s.(generation.State))
}

// exam is the feature: it compiles the exam at the start, so that a run that cannot hold it fails then.
type exam struct {
	idle
	judge  *episode.ActingJudge
	failed bool // the centre has not passed an exam
}

func openExam(_ context.Context, e *Evolution) (feature, error) {
	x := &exam{}
	return x, x.replaced(e)
}

// replaced compiles the exam anew if it cannot play members of the current search.
func (x *exam) replaced(e *Evolution) error {
	centre, err := e.centre()
	if err != nil || x.judge != nil && x.judge.Fits(centre) {
		return err
	}
	if err := x.close(); err != nil {
		return err
	}
	if x.judge, err = newExam(e.backend, &e.config, centre); err != nil {
		return err
	}
	x.judge.OnProgress = func(done, total int) { e.Loop.Counter().Stage("episodes of the exam", done, total) }
	return nil
}

// after holds an exam if the run has reached its target. The run goes on if the centre does not pass. The first time
// that is a notice.
func (x *exam) after(e *Evolution, m *run.Metrics) error {
	value := run.Value{Name: examReturn, Number: math.NaN()}
	if m.Done {
		centre, err := e.centre()
		if err != nil {
			return err
		}
		key := random.FoldIn(random.FoldIn(random.New(e.search.config.Seed), examKey), e.Steps())
		if value.Number, err = examScore(x.judge, centre, key); err != nil {
			return err
		}
		m.Done = value.Number >= e.config.ExamTarget
		if !m.Done && !x.failed {
			x.failed = true
			m.Notices = append(m.Notices, fmt.Sprintf("the target is reached, but the centre has not passed the exam: "+
				"%s of the %s wanted (--exam-target); the run goes on", generation.Number(value.Number),
				generation.Number(e.config.ExamTarget)))
		}
	}
	m.Values = append(m.Values, value)
	return nil
}

func (x *exam) close() error {
	if x.judge == nil {
		return nil
	}
	return x.judge.Close()
}
