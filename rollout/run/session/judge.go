package session

import (
	"errors"
	"time"

	"xlarun/envs"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

// judgeShare is the least ratio of the time between two judgements to the time that one takes.
const judgeShare = 20

// Judge judges a run's candidates on fresh episodes, and records the best.
type Judge struct {
	*episode.Judge
	recorder *episode.Recorder // nil: nothing is drawn
	env      envs.Environment
	at       time.Time // of the last judgement
	// How long the last judgement took, without compiling: to judge and write the members, and to draw the best.
	judging, drawing time.Duration
}

// NewJudge compiles a program that judges as many members as there are candidates and, with draw, one that records the
// best, if the environment can be drawn. purpose is that of the experiment.
func NewJudge(b xlabridge.Backend, p run.Player, purpose string, candidates []run.Candidate,
	draw bool) (*Judge, error) {
	r, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	j := &Judge{env: r.Env}
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

// took returns how long the last judgement took.
func (j *Judge) took() time.Duration { return j.judging + j.drawing }

// Close frees the programs.
func (j *Judge) Close() error {
	err := j.Judge.Close()
	if j.recorder != nil {
		err = errors.Join(err, j.recorder.Close())
	}
	return err
}

// player returns the experiment if its members are judged, else nil.
func (s *session) player() run.Player {
	p, ok := s.Experiment.(run.Player)
	if _, has := s.run.(run.Members); !ok || !has {
		return nil
	}
	return p
}

// result judges the members of the held state, and writes the centre, the best member with its picture and the hall of
// fame. It does nothing if the last judgement was a short time ago and the run goes on; ended means that the run is
// over, and then the kind's further files are written, too. Work that cannot be expected to fit into the time `within`
// is left out: drawing first, then judging. 0 means any time.
func (s *session) result(ended bool, within time.Duration) error {
	held := s.held
	if held == nil || !ended && s.judge != nil && time.Since(s.judge.at) < judgeShare*s.judge.took() {
		return nil
	}
	fits := func(took time.Duration) bool { return within == 0 || took > 0 && took < within }
	if ended && fits(s.filing+1) {
		files, err := s.furtherFiles(ended)
		if err != nil {
			return err
		}
		s.update(func(x *state) { x.files = merged(x.files, files) })
		if err := s.writeFiles(); err != nil {
			return err
		}
	}
	p := s.player()
	if p == nil || within > 0 && (s.judge == nil || !fits(s.judge.judging)) {
		return nil
	}
	candidates, err := s.candidates(held)
	if err != nil || len(candidates) == 0 {
		return err
	}
	if s.judge == nil {
		draw := s.Folder != nil && s.Draw != nil
		s.judge, err = NewJudge(s.backend, p, run.Purpose(s.Kind.Name, s.Experiment), candidates, draw)
		if err != nil {
			return err
		}
	}
	start := time.Now()
	if err := s.judgeMembers(held, candidates); err != nil {
		return err
	}
	s.judge.judging = time.Since(start)
	if s.judge.recorder != nil && fits(s.judge.took()) {
		start := time.Now()
		if err := s.drawBest(); err != nil {
			return err
		}
		s.judge.drawing = time.Since(start)
	}
	s.judge.at = time.Now()
	return nil
}

// candidates returns those of a state.
func (s *session) candidates(held *runfolder.Checkpoint) ([]run.Candidate, error) {
	return s.run.(run.Members).Candidates(run.Snapshot{Step: held.Step, Arrays: held.Arrays})
}

// judgeMembers judges the candidates and the hall of fame on the same fresh episodes. It writes the first candidate,
// which stands for the whole search, the best member, and the hall of fame.
func (s *session) judgeMembers(held *runfolder.Checkpoint, candidates []run.Candidate) error {
	famed := make([]run.Famed, len(candidates))
	for i, c := range candidates {
		famed[i].Candidate = c
	}
	members, err := s.play(famed, len(candidates))
	if err != nil {
		return err
	}
	fame, err := s.judgeFame(held, len(candidates))
	if err != nil {
		return err
	}
	best := members[0]
	for _, m := range append(members[1:len(members):len(members)], fame...) {
		if m.Judgement.Mean > best.Judgement.Mean { // the first of equal ones stays
			best = m
		}
	}
	if s.Folder != nil {
		if err := s.writeMember(run.CentreMember, held, members[0].Candidate, &members[0].Judgement); err != nil {
			return err
		}
		if err := s.writeMember(run.BestMember, held, best.Candidate, &best.Judgement); err != nil {
			return err
		}
		if err := s.writeFame(held, fame); err != nil {
			return err
		}
	}
	s.update(func(x *state) { x.best, x.fame, x.centreAt = best, fame, held.Step })
	return nil
}

// play judges members on fresh episodes, as many together as the judge was made for. The last round is filled up with
// its last member.
func (s *session) play(famed []run.Famed, together int) (members []*Member, err error) {
	key := random.FoldIn(random.New(s.Experiment.On().Seed), run.JudgeKey)
	for len(famed) > 0 {
		n := min(together, len(famed))
		players := make([]any, together)
		for i := range players {
			players[i] = famed[min(i, n-1)].Params
		}
		judgements, err := s.judge.Play(players, key)
		if err != nil {
			return nil, err
		}
		for i, m := range famed[:n] {
			members = append(members, &Member{m, judgements[i]})
		}
		famed = famed[n:]
	}
	return members, nil
}

// drawBest writes the GIF of an episode of the best member.
func (s *session) drawBest() error {
	seed := s.Experiment.On().Seed
	rec, err := s.judge.recorder.Record(s.best.Params, random.FoldIn(run.EpisodesKey(seed), 0))
	if err != nil {
		return err
	}
	gif, err := s.Draw(s.judge.env, rec, seed)
	if err != nil {
		return err
	}
	return s.Folder.Write("best.gif", gif)
}
