package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"xlarun/envs"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// largeMember is the size of a member's parameters in bytes from which members are evaluated one by one, without a
// copy: a stack of all candidates would take a multiple of the run's state. Tests change it.
var largeMember = 16 << 20

// evalShare is the least ratio of the time between two evaluations to the time that one takes.
const evalShare = 20

// drawShare is the least ratio of the time between two drawings of the best member to the time that one takes. The end
// of a run draws anyway.
const drawShare = 500

// Evaluator evaluates a run's candidates on new episodes, in all ways to act that their policy has, and records the
// best.
type Evaluator struct {
	*episode.ActingEvaluator
	recorder *episode.Recorder // nil: nothing is drawn
	env      envs.Environment
	policy   policy.Policy
	at       time.Time // of the last evaluation
	// How long the last evaluation took, without compiling: to evaluate and write the members, and to draw the best.
	evaluating, drawing time.Duration
	drawnAt             time.Time // of the last drawing
}

// NewEvaluator compiles a program that evaluates as many members as there are candidates and, with draw, one that
// records the best, if the environment can be drawn. purpose is the experiment's.
func NewEvaluator(b xlabridge.Backend, p *run.Play, purpose string, candidates []run.Candidate,
	draw bool) (*Evaluator, error) {
	r, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	e := &Evaluator{env: r.Env, policy: r.Policy}
	example := candidates[0].Params
	e.ActingEvaluator, err = episode.NewActingEvaluator(b, r, example, len(candidates), p.EvalEpisodes, largeMember,
		purpose)
	if err != nil {
		return nil, err
	}
	if _, can := envs.DrawerOf(r.Env); can && draw {
		if e.recorder, err = episode.NewRecorder(b, r, policy.Acting(example, e.Ways[0])); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// Programs returns the number of programs that NewEvaluator compiled.
func (e *Evaluator) Programs() int {
	if e.recorder == nil {
		return 1
	}
	return 2
}

// took returns how long the last evaluation took.
func (e *Evaluator) took() time.Duration { return e.evaluating + e.drawing }

// draws reports whether the best member is drawn now.
func (e *Evaluator) draws(now time.Time, ended bool) bool {
	return e.recorder != nil && (ended || now.Sub(e.drawnAt) >= drawShare*e.drawing)
}

// Close frees the programs.
func (e *Evaluator) Close() error {
	err := e.ActingEvaluator.Close()
	if e.recorder != nil {
		err = errors.Join(err, e.recorder.Close())
	}
	return err
}

// player returns how members play if they are evaluated, else nil.
func (s *session) player() *run.Play {
	if s.can == nil || s.can.Members == nil {
		return nil
	}
	return s.Job.Play
}

// result evaluates the members of the held state, and writes the mean, the best member with its picture and the hall of
// fame. It does nothing if the last evaluation was a short time ago and the run goes on, and does not draw if the last
// drawing was; ended means that the run is over, and then the kind's further files are written, too. Work that cannot
// be expected to fit into the time `within` is left out: drawing first, then evaluating. 0 means any time.
func (s *session) result(ended bool, within time.Duration) error {
	held := s.held
	if held == nil || !ended && s.evaluator != nil && time.Since(s.evaluator.at) < evalShare*s.evaluator.took() {
		return nil
	}
	fits := func(took time.Duration) bool { return within == 0 || took > 0 && took < within }
	if ended && fits(s.filing+1) {
		files, err := s.furtherFiles(run.Snapshot{Step: held.Step, Arrays: held.Arrays}, ended)
		if err != nil {
			return err
		}
		s.update(func(x *state) { x.files = merged(x.files, files) })
		if err := s.writeFiles(); err != nil {
			return err
		}
	}
	p := s.player()
	if p == nil || within > 0 && (s.evaluator == nil || !fits(s.evaluator.evaluating)) {
		return nil
	}
	candidates, err := s.candidates(held)
	if err != nil || len(candidates) == 0 {
		return err
	}
	if s.evaluator != nil && !s.evaluator.Fits(candidates[0].Params) { // the members have grown
		if err := s.evaluator.Close(); err != nil {
			return err
		}
		s.evaluator = nil
	}
	if s.evaluator == nil {
		draw := s.Folder != nil && s.Draw != nil
		s.evaluator, err = NewEvaluator(s.backend, p, run.Purpose(s.Kind.Name, s.Experiment), candidates, draw)
		if err != nil {
			return err
		}
		s.returnMemory()
	}
	start := time.Now()
	if err := s.evaluateMembers(held, candidates); err != nil {
		return err
	}
	s.evaluator.evaluating = time.Since(start)
	if s.evaluator.draws(time.Now(), ended) && fits(s.evaluator.took()) {
		start := time.Now()
		if err := s.drawBest(); err != nil {
			return err
		}
		s.evaluator.drawnAt = time.Now()
		s.evaluator.drawing = s.evaluator.drawnAt.Sub(start)
	}
	s.evaluator.at = time.Now()
	return nil
}

// reevaluate plays what the run has found on new episodes, if the run does that, until ctx ends.
func (s *session) reevaluate(ctx context.Context) error {
	if s.can.Reevaluate == nil || s.held == nil {
		return nil
	}
	const phase = "new episodes of all that was found"
	s.Observer.Phase(phase)
	last := time.Now()
	facts, err := s.can.Reevaluate(ctx, run.Snapshot{Step: s.held.Step, Arrays: s.held.Arrays}, func(share float64) {
		if time.Since(last) >= progressAfter {
			last = time.Now()
			s.Observer.Phase(fmt.Sprintf("%s: %.0f %% done", phase, 100*share))
		}
	})
	if err != nil && ctx.Err() != nil {
		s.Observer.Notice("interrupted during the " + phase + ": there are no numbers of them; resume the run for them")
		return nil
	}
	s.update(func(x *state) { x.facts = facts })
	return err
}

// candidates returns those of a state.
func (s *session) candidates(held *runfolder.Checkpoint) ([]run.Candidate, error) {
	return s.can.Members.Candidates(run.Snapshot{Step: held.Step, Arrays: held.Arrays})
}

// evaluateMembers evaluates the candidates and the hall of fame on the same new episodes. It writes the first
// candidate, which stands for the whole search, the best member, and the hall of fame. The largest of several means is
// too large on average, so the best member is evaluated once more, on episodes of its own.
func (s *session) evaluateMembers(held *runfolder.Checkpoint, candidates []run.Candidate) error {
	entries := make([]run.HallEntry, len(candidates))
	for i, c := range candidates {
		entries[i].Candidate = c
	}
	key := random.FoldIn(random.New(s.Experiment.On().Seed), run.EvalKey)
	members, err := s.evaluator.play(entries, key)
	if err != nil {
		return err
	}
	hall, err := s.evaluateHall(held, key)
	if err != nil {
		return err
	}
	best := members[0]
	for _, m := range append(members[1:len(members):len(members)], hall...) {
		if m.EvalResult.Mean > best.EvalResult.Mean { // the first of equal ones stays
			best = m
		}
	}
	if len(members)*len(s.evaluator.Ways)+len(hall) > 1 {
		again, err := s.evaluator.play([]run.HallEntry{best.HallEntry}, random.FoldIn(key, bestKey))
		if err != nil {
			return err
		}
		best = again[0].withActions(best.Actions)
	}
	if s.Folder != nil {
		if err := s.writeMember(run.FinalMember, held, members[0]); err != nil {
			return err
		}
		if err := s.writeMember(run.BestMember, held, best); err != nil {
			return err
		}
	}
	// Now, since an interrupted run may end before the files below are written.
	s.update(func(x *state) { x.best, x.hall, x.meanAt = best, hall, held.Step })
	if s.Folder != nil {
		if draw := s.evaluator.policy.Traits().Drawing; draw != nil {
			drawing, err := draw(best.Params)
			if err == nil {
				err = s.Folder.Write(run.BestMember+".svg", drawing)
			}
			if err != nil {
				return err
			}
		}
		return s.writeHall(held, hall)
	}
	return nil
}

// bestKey is folded into the evaluator's key for the second evaluation of the best member. It is larger than the number
// of any episode.
const bestKey = 1<<31 - 1

// play evaluates members on new episodes, in all ways to act. A member acts in the way with the largest mean return.
func (e *Evaluator) play(entries []run.HallEntry, key random.Key) ([]*Member, error) {
	params := make([]any, len(entries))
	for i, m := range entries {
		params[i] = m.Params
	}
	results, err := e.PlayAll(params, key)
	if err != nil {
		return nil, err
	}
	members := make([]*Member, len(entries))
	for i, ways := range results {
		members[i] = &Member{HallEntry: entries[i], EvalResult: ways[0], Actions: e.Ways[0]}
		if len(ways) > 1 {
			members[i].Other = &ways[1]
			if ways[1].Mean > ways[0].Mean {
				members[i] = members[i].withActions(e.Ways[1])
			}
		}
	}
	return members, nil
}

// drawBest writes the GIF of an episode of the best member.
func (s *session) drawBest() error {
	seed := s.Experiment.On().Seed
	params := policy.Acting(s.best.Params, s.best.Actions)
	rec, err := s.evaluator.recorder.Record(params, random.FoldIn(run.EpisodesKey(seed), 0))
	if err != nil {
		return err
	}
	gif, err := s.Draw(s.evaluator.env, rec, seed)
	if err != nil {
		return err
	}
	if err := s.Folder.Write("best.gif", gif); err != nil {
		s.Observer.Notice(err.Error()) // a run does not fail for lack of a picture
	}
	return nil
}
