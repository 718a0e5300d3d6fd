package studies

import (
	"encoding/json"
	"errors"

	"xlarun/studies/study"
)

// job is all that a worker needs to run a trial.
type job struct {
	ID, Number, Sees      int64
	Params, Distributions []byte // JSON
	Spec, Call            []byte
	Stored                bool // there is a checkpoint to go on from
	PBT                   pbtJob
}

// frozen returns the trial of a job, with its number and parameters only.
func (j *job) frozen() (*study.FrozenTrial, error) {
	t := &study.FrozenTrial{Number: j.Number}
	return t, errors.Join(json.Unmarshal(j.Params, &t.Params), json.Unmarshal(j.Distributions, &t.Distributions))
}

// params returns the parameters of a trial by name, as its runs get them.
func (j *job) params() (map[string]any, error) {
	t, err := j.frozen()
	if err != nil {
		return nil, err
	}
	return t.External(), nil
}
