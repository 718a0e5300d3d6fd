package cli

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play"
	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

const (
	// freshKey is what the seed's key is folded with for the episodes by which members are judged: no key of training.
	freshKey = 0x6a756467
	// judgeShare is how much longer a run goes on between two judgements than one takes, at least.
	judgeShare = 20
	// pictureFrames is the most frames of a run's picture; a longer episode is shown with steps left out.
	pictureFrames = 200
)

// judge judges a run's candidates, and draws the best.
type judge struct {
	*episode.Judge
	recorder *episode.Recorder // nil where nothing is drawn
	env      envs.Environment
	at       time.Time
	// What it took the last time, without compiling anything: to judge and write the members, and to draw the best.
	judging, drawing time.Duration
}

// took is what all of it took.
func (j *judge) took() time.Duration { return j.judging + j.drawing }

// Close frees the programs.
func (j *judge) Close() error {
	err := j.Judge.Close()
	if j.recorder != nil {
		err = errors.Join(err, j.recorder.Close())
	}
	return err
}

// bestMember is the candidate that did best on fresh episodes.
type bestMember struct {
	Name      string
	Params    any
	Judgement episode.Judgement
}

// player returns the experiment if its members are judged, else nil.
func (s *session) player() run.Player {
	p, ok := s.Experiment.(run.Player)
	if _, chooses := s.run.(run.Chooser); !ok || !chooses {
		return nil
	}
	return p
}

// result writes what the run has come to, from the held state: the centre, and the best of the candidates after they
// were judged on fresh episodes, with its picture; and the kind's further files. Between two checkpoints that are close
// it is left out; ended says that the run is over. Where not all of it can be expected to be done within a time,
// drawing is left out, then judging; 0 for any time.
func (s *session) result(ended bool, within time.Duration) error {
	held := s.held
	if held == nil || !ended && s.judge != nil && time.Since(s.judge.at) < judgeShare*s.judge.took() {
		return nil
	}
	soon := func(took time.Duration) bool { return within == 0 || took > 0 && took < within }
	if soon(s.filing + 1) {
		start := time.Now()
		if err := s.files(ended); err != nil {
			return err
		}
		s.filing = time.Since(start)
	}
	p := s.player()
	if p == nil || within > 0 && (s.judge == nil || !soon(s.judge.judging)) {
		return nil
	}
	candidates, err := s.run.(run.Chooser).Candidates(run.Snapshot{Step: held.Step, Arrays: held.Arrays})
	if err != nil || len(candidates) == 0 {
		return err
	}
	if s.judge == nil {
		if s.judge, err = newJudge(s.backend, p, s.Purpose(), candidates, s.folder != nil); err != nil {
			return err
		}
	}
	start := time.Now()
	b, err := s.judgeMembers(held, candidates)
	if err != nil {
		return err
	}
	judged := time.Now()
	if s.judge.judging = judged.Sub(start); s.judge.recorder != nil && soon(s.judge.took()) {
		gif, err := play.Picture(s.judge.recorder, s.judge.env, b.Params, s.On().Seed, pictureFrames)
		if err != nil {
			return err
		}
		if err := s.folder.Write("best.gif", gif); err != nil {
			return err
		}
		s.judge.drawing = time.Since(judged)
	}
	s.judge.at = time.Now()
	return nil
}

// judgeMembers finds the best of the candidates on fresh episodes, and writes it and the first, which stands for the
// whole search.
func (s *session) judgeMembers(held *runfolder.Checkpoint, candidates []run.Candidate) (*bestMember, error) {
	members := make([]any, len(candidates))
	for i, c := range candidates {
		members[i] = c.Params
	}
	judgements, err := s.judge.Play(members, s.freshEpisodes())
	if err != nil {
		return nil, err
	}
	fame, err := s.judgeFame(held, len(candidates))
	if err != nil {
		return nil, err
	}
	for _, f := range fame {
		candidates, judgements = append(candidates, f.Candidate), append(judgements, f.Judgement)
	}
	best := 0
	for i, j := range judgements {
		if j.Mean > judgements[best].Mean { // of equal ones the first
			best = i
		}
	}
	b := &bestMember{candidates[best].Name, candidates[best].Params, judgements[best]}
	if s.folder != nil {
		if err := s.writeMember("centre", held, candidates[0], &judgements[0]); err != nil {
			return nil, err
		}
		if err := s.writeMember("best", held, candidates[best], &judgements[best]); err != nil {
			return nil, err
		}
		if err := s.writeFame(held, fame); err != nil {
			return nil, err
		}
	}
	s.update(func(x *state) { x.best, x.fame, x.centreAt = b, fame, held.Step })
	return b, nil
}

// newJudge compiles what judges so many candidates and, where it is to be drawn, what records the best.
func newJudge(b xlabridge.Backend, p run.Player, purpose string, candidates []run.Candidate,
	draw bool) (*judge, error) {
	r, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	j := &judge{env: r.Env}
	if j.Judge, err = episode.NewJudge(b, r, candidates[0].Params, len(candidates), p.Judged(), purpose); err != nil {
		return nil, err
	}
	if _, can := envs.DrawerOf(r.Env); can && draw {
		if j.recorder, err = episode.NewRecorder(b, r, candidates[0].Params); err != nil {
			return nil, errors.Join(err, j.Close())
		}
	}
	return j, nil
}

// describe is the metadata of a member, by which episode.Load makes it act again.
func (s *session) describe(step int64, name string) map[string]string {
	own := settings.Values{}
	spec := ""
	for _, c := range settings.ChosenParts(s.Experiment) {
		if c.Name != "policy" {
			continue
		}
		f, _ := settings.Lookup(s.Experiment, c.Name)
		spec = f.Text()
		for _, x := range settings.Fields(c.Settings) {
			if !argued(s.Experiment, c, x) {
				own[x.Name] = x.Value()
			}
		}
	}
	env, steps := "", 0
	var params []episode.EnvParam
	var network policy.Policy
	if p, ok := s.Experiment.(run.Player); ok {
		if r, err := p.Rollout(); err == nil {
			env, steps, params, network = r.Env.Spec().ID, r.Steps, r.Given, r.Policy
		}
	}
	m := episode.Describe(env, spec, own, steps)
	episode.DescribeParams(m, params)
	episode.DescribeNormalized(m, network)
	maps.Copy(m, map[string]string{"kind": s.Name, "member": name, s.Unit: strconv.FormatInt(step, 10),
		"seed":   strconv.FormatInt(s.On().Seed, 10),
		"xlarun": console.Version()})
	return m
}

// writeMember writes a candidate. j is how it did on fresh episodes; nil: it was not judged.
func (s *session) writeMember(file string, held *runfolder.Checkpoint, c run.Candidate, j *episode.Judgement) error {
	return s.folder.WriteArrays(file+".safetensors", c.Params, s.describeJudged(held.Step, c, j))
}

// describeJudged is the metadata of a candidate, with how it did.
func (s *session) describeJudged(step int64, c run.Candidate, j *episode.Judgement) map[string]string {
	m := s.describe(step, c.Name)
	if j != nil {
		m["mean_return"], m["standard_error"], m["episodes"] = fmt.Sprint(j.Mean), fmt.Sprint(j.Error),
			strconv.Itoa(len(j.Return))
	}
	return m
}

// writeCentre writes the centre of a state without judging it: nothing on the devices is touched.
func (s *session) writeCentre(held *runfolder.Checkpoint) error {
	chooser, ok := s.run.(run.Chooser)
	if _, plays := s.Experiment.(run.Player); !ok || !plays {
		return nil
	}
	candidates, err := chooser.Candidates(run.Snapshot{Step: held.Step, Arrays: held.Arrays})
	if err != nil || len(candidates) == 0 {
		return err
	}
	return s.writeMember("centre", held, candidates[0], nil)
}

// files writes the kind's further files.
func (s *session) files(ended bool) error {
	f, ok := s.run.(run.Filed)
	if !ok || s.folder == nil {
		return nil
	}
	files, err := f.Files(ended)
	if err != nil {
		return err
	}
	for _, x := range files {
		if x.Data != nil {
			err = s.folder.Write(x.Name, x.Data)
		} else if x.Arrays != nil {
			m := maps.Clone(x.Metadata)
			m["xlarun"] = console.Version()
			err = s.folder.WriteArrays(x.Name, x.Arrays, m)
		} else {
			err = s.folder.WriteJSON(x.Name, x.JSON)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
