package session

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"time"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
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
	goal     float64   // Play.Goal of env; NaN: none
	at       time.Time // of the last evaluation
	// How long the last evaluation took, without compiling: to evaluate and write the members, and to draw the best.
	evaluating, drawing time.Duration
	drawnAt             time.Time // of the last drawing
}

// NewEvaluator compiles a program that evaluates as many members as there are candidates, on a run's devices, and, with
// draw, one that records the best, if the environment can be drawn. purpose is Job.Purpose.
func NewEvaluator(b xlabridge.Backend, p *run.Play, purpose string, candidates []run.Candidate, devices int,
	draw bool) (*Evaluator, error) {
	made, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	own := *made
	own.Plan.Devices = devices
	r := &own
	e := &Evaluator{env: r.Env, policy: r.Policy, goal: p.Goal(r.Env.Spec())}
	example := candidates[0].Params
	e.ActingEvaluator, err = episode.NewActingEvaluator(b, r, example, len(candidates), p.EvalEpisodes, largeMember,
		purpose)
	if err != nil {
		return nil, err
	}
	if draw && envs.TraitsOf(r.Env).Draw != nil {
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
func (e *Evaluator) draws(now time.Time, over bool) bool {
	return e.recorder != nil && (over || now.Sub(e.drawnAt) >= drawShare*e.drawing)
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

// judge evaluates the members of the held state, and writes the mean, the best member with its picture and the hall of
// fame. It does nothing if the last evaluation was a short time ago and the run goes on, and does not draw if the last
// drawing was; over means that the run is over, and then the kind's further files are written, too. Work that cannot
// be expected to fit into the time `within` is left out: drawing first, then evaluating. 0 means any time.
func (s *session) judge(over bool, within time.Duration) error {
	held := s.held
	if held == nil || !over && s.evaluator != nil && time.Since(s.evaluator.at) < evalShare*s.evaluator.took() {
		return nil
	}
	fits := func(took time.Duration) bool { return within == 0 || took > 0 && took < within }
	if over && fits(s.filing+1) {
		can := s.can
		files, err := wait(s, func() ([]run.File, error) { return s.furtherFiles(can, held.snapshot(), over) })
		if err != nil {
			return err
		}
		s.files = merged(s.files, files)
		if err := s.writeFiles(); err != nil {
			return err
		}
	}
	p := s.player()
	if p == nil || within > 0 && (s.evaluator == nil || !fits(s.evaluator.evaluating)) {
		return nil
	}
	members := s.can.Members
	candidates, err := wait(s, func() ([]run.Candidate, error) { return members.Candidates(held.snapshot()) })
	if err != nil || len(candidates) == 0 {
		return err
	}
	if err := s.prepareEvaluator(p, candidates); err != nil {
		return err
	}
	e, start := s.evaluator, time.Now()
	if err := s.evaluate(held, candidates); err != nil {
		return err
	}
	e.evaluating = time.Since(start)
	if start := time.Now(); e.draws(start, over) && fits(e.took()) {
		best := s.best
		if err := s.do(func() error { return s.drawBest(e, best) }); err != nil {
			return err
		}
		e.drawnAt = time.Now()
		e.drawing = e.drawnAt.Sub(start)
	}
	e.at = time.Now()
	return nil
}

// preparation is an evaluator that is being compiled.
type preparation struct {
	done      chan struct{} // closed when the fields below are set
	evaluator *Evaluator
	err       error
}

// close waits for a preparation and frees its programs. A nil preparation has none.
func (p *preparation) close() {
	if p == nil {
		return
	}
	<-p.done
	if p.evaluator != nil {
		_ = p.evaluator.Close()
	}
}

// prepareBeside begins to compile the evaluator for the held state while the rounds go on, and reports whether it is
// there. A lent state is used up by the next round, so its evaluator is compiled at once, by judge. So is that of a
// NaNFinder, which is for one goroutine.
func (s *session) prepareBeside(p *run.Play) (ready bool, err error) {
	held := s.held
	_, finds := s.backend.(*NaNFinder)
	switch {
	case held == nil || held.lent || finds:
		return true, nil
	case s.beside != nil:
		select {
		case <-s.beside.done:
			return true, nil
		default:
			return false, nil
		}
	}
	members := s.can.Members
	candidates, err := wait(s, func() ([]run.Candidate, error) { return members.Candidates(held.snapshot()) })
	if err != nil || len(candidates) == 0 {
		return false, err
	}
	b, purpose, devices, draw := s.backend, s.Job.Purpose, s.profile.Devices, s.Folder != nil && s.Draw != nil
	beside := &preparation{done: make(chan struct{})}
	s.beside = beside
	go func() {
		defer close(beside.done)
		thrown := envs.Try(func() {
			beside.evaluator, beside.err = NewEvaluator(b, p, purpose, candidates, devices, draw)
		})
		if thrown != nil {
			beside.err = thrown
		}
	}()
	return false, nil
}

// prepareEvaluator compiles an evaluator if there is none, or if the members have grown. It waits for one that is being
// compiled.
func (s *session) prepareEvaluator(p *run.Play, candidates []run.Candidate) error {
	defer func(start time.Time) { s.awaited += time.Since(start).Seconds() }(time.Now())
	if beside := s.beside; beside != nil {
		b := s.backend
		if err := s.do(func() error { <-beside.done; returnMemory(b); return beside.err }); err != nil {
			return err
		}
		s.beside, s.evaluator, s.goal = nil, beside.evaluator, beside.evaluator.goal
	}
	if old := s.evaluator; old != nil {
		if old.Fits(candidates[0].Params) {
			return nil
		}
		s.evaluator = nil
		if err := s.do(old.Close); err != nil {
			return err
		}
	}
	b := s.backend
	e, err := wait(s, func() (*Evaluator, error) {
		draw := s.Folder != nil && s.Draw != nil
		e, err := NewEvaluator(b, p, s.Job.Purpose, candidates, s.profile.Devices, draw)
		returnMemory(b)
		return e, err
	})
	if err != nil {
		return err
	}
	s.evaluator, s.goal = e, e.goal
	return nil
}

// evaluate evaluates the candidates and the hall of fame. It writes the first candidate, which stands for the whole
// search, the best member, and the hall of fame.
func (s *session) evaluate(held *held, candidates []run.Candidate) error {
	e, members := s.evaluator, s.can.Members
	found, err := wait(s, func() (evaluated, error) {
		hall, err := members.HallEntries(held.snapshot())
		if err != nil {
			return evaluated{}, err
		}
		return e.best(candidates, hall, random.FoldIn(random.New(s.Experiment.On().Seed), run.EvalKey))
	})
	if err != nil {
		return err
	}
	if s.Folder != nil {
		err := s.do(func() error {
			if err := s.writeMember(run.FinalMember, held.Step, found.final); err != nil {
				return err
			}
			return s.writeMember(run.BestMember, held.Step, found.best)
		})
		if err != nil {
			return err
		}
	}
	// Now, since an interrupted run may end before the files below are written.
	s.best, s.hall, s.meanAt = found.best, found.hall, held.Step
	if s.Folder == nil {
		return nil
	}
	return s.do(func() error {
		if draw := e.policy.Traits().Drawing; draw != nil {
			drawing, err := draw(found.best.Params)
			if err == nil {
				err = s.Folder.Write(run.BestMember+".svg", drawing)
			}
			if err != nil {
				return err
			}
		}
		return s.writeHall(held.Step, found.hall)
	})
}

// evaluated are the members of a state that were evaluated.
type evaluated struct {
	final, best *Member
	hall        []*Member // the best result first; equal ones in the order of their fitness
}

// best evaluates the candidates and the hall of fame on the same new episodes. The largest of several means is too
// large on average, so the best member is evaluated once more, on episodes of its own.
func (e *Evaluator) best(candidates []run.Candidate, fame []run.HallEntry, key random.Key) (evaluated, error) {
	entries := make([]run.HallEntry, len(candidates))
	for i, c := range candidates {
		entries[i].Candidate = c
	}
	all, err := e.play(slices.Concat(entries, fame), key)
	if err != nil {
		return evaluated{}, err
	}
	members, hall := all[:len(entries)], all[len(entries):]
	slices.SortStableFunc(hall, byResult)
	best := slices.MinFunc(all, byResult) // the first of equal ones
	if len(members)*len(e.Ways)+len(hall) > 1 {
		again, err := e.play([]run.HallEntry{best.HallEntry}, random.FoldIn(key, bestKey))
		if err != nil {
			return evaluated{}, err
		}
		chosen := *best
		best = again[0].withActions(chosen.Actions)
		best.Choice = &chosen.EvalResult
		for _, m := range all {
			same, err := sameParams(m, &chosen)
			if err != nil {
				return evaluated{}, err
			}
			if m.OfChoice = !same; same { // one member has one result
				entry := m.HallEntry
				*m = *best
				m.HallEntry = entry
			}
		}
	}
	return evaluated{members[0], best, hall}, nil
}

// byResult orders members by their results, the best first.
func byResult(a, b *Member) int { return a.EvalResult.Compare(b.EvalResult) }

// sameParams reports whether two members are one: the mean of a search, the best ever and the first of the hall of fame
// may be. Members with other returns are not.
func sameParams(a, b *Member) (bool, error) {
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	if !slices.EqualFunc(a.EvalResult.Return, b.EvalResult.Return, equal) {
		return false, nil
	}
	x, y := graph.Leaves(a.Params), graph.Leaves(b.Params)
	for i := range x {
		same := false
		err := graph.View(x[i], func(p []byte) error {
			return graph.View(y[i], func(q []byte) error {
				same = bytes.Equal(p, q)
				return nil
			})
		})
		if !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// bestKey is folded into the evaluator's key for the second evaluation of the best member. It is larger than the number
// of any episode.
const bestKey = 1<<31 - 1

// play evaluates members on new episodes, in all ways to act. A member acts in the way with the best result.
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
		members[i] = &Member{HallEntry: entries[i], EvalResult: ways[0], Actions: e.Ways[0], episodes: key}
		if len(ways) > 1 {
			members[i].Other = &ways[1]
			if ways[1].Compare(ways[0]) < 0 {
				members[i] = members[i].withActions(e.Ways[1])
			}
		}
	}
	return members, nil
}

// drawBest writes the GIF of an episode of the best member: the one whose return is the median of those by which it was
// evaluated.
func (s *Options) drawBest(e *Evaluator, best *Member) error {
	params := policy.Acting(best.Params, best.Actions)
	number := best.EvalResult.Episode(episode.MedianEpisode)
	rec, err := e.recorder.Record(params, random.FoldIn(best.episodes, number))
	if err != nil {
		return err
	}
	gif, err := s.Draw(e.env, rec, best.EvalResult.Caption(episode.MedianEpisode))
	if err != nil {
		return err
	}
	if err := s.Folder.Write("best.gif", gif); err != nil {
		s.Observer.Notice(err.Error()) // a run does not fail for lack of a picture
	}
	return nil
}
