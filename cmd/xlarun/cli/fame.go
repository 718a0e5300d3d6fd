package cli

import (
	"fmt"
	"slices"
	"strconv"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
)

// fameMember is a member of the hall of fame, and how it did on fresh episodes.
type fameMember struct {
	run.Famed
	Judgement episode.Judgement
}

// judgeFame plays the hall of fame of a state on the same fresh episodes as the candidates, by the same program, and
// sorts it by what came of that; of equal ones the order stays that of the fitness.
func (s *session) judgeFame(held *runfolder.Checkpoint, together int) (fame []*fameMember, err error) {
	keeps, ok := s.run.(run.Famous)
	if !ok {
		return nil, nil
	}
	members, err := keeps.Fame(run.Snapshot{Step: held.Step, Arrays: held.Arrays})
	if err != nil {
		return nil, err
	}
	for len(members) > 0 {
		n := min(together, len(members))
		players := make([]any, together)
		for i := range players {
			players[i] = members[min(i, n-1)].Params
		}
		judgements, err := s.judge.Play(players, s.freshEpisodes())
		if err != nil {
			return nil, err
		}
		for i, m := range members[:n] {
			fame = append(fame, &fameMember{m, judgements[i]})
		}
		members = members[n:]
	}
	slices.SortStableFunc(fame, func(a, b *fameMember) int {
		switch {
		case a.Judgement.Mean > b.Judgement.Mean:
			return -1
		case a.Judgement.Mean < b.Judgement.Mean:
			return 1
		}
		return 0
	})
	return fame, nil
}

// freshEpisodes is the key of the episodes by which members are judged.
func (s *session) freshEpisodes() random.Key {
	return random.FoldIn(random.New(s.On().Seed), freshKey)
}

// writeFame writes the hall of fame, each member into a file named by its place.
func (s *session) writeFame(held *runfolder.Checkpoint, fame []*fameMember) error {
	if s.folder == nil {
		return nil
	}
	for i, f := range fame {
		m := s.describeJudged(held.Step, f.Candidate, &f.Judgement)
		m["fitness"], m["fitness_"+s.Unit] = fmt.Sprint(f.Fitness), strconv.FormatInt(f.Step, 10)
		if err := s.folder.WriteArrays(play.Fame(i+1)+".safetensors", f.Params, m); err != nil {
			return err
		}
	}
	return nil
}

// fameFacts is the hall of fame for the line of JSON.
func (s *session) fameFacts() []jsonObject {
	all := []jsonObject{}
	for i, f := range s.fame {
		all = append(all, jsonObject{{Name: "member", Value: play.Fame(i + 1)},
			{Name: "fitness", Value: console.Number(f.Fitness)}, {Name: s.Unit, Value: f.Step},
			{Name: "mean_return", Value: console.Number(f.Judgement.Mean)},
			{Name: "standard_error", Value: console.Number(f.Judgement.Error)}})
	}
	return all
}

// fameWords is the hall of fame in a line, "" where nobody is in it.
func (s *session) fameWords() string {
	if len(s.fame) == 0 {
		return ""
	}
	first, last := s.fame[0].Judgement, s.fame[len(s.fame)-1].Judgement
	if len(s.fame) == 1 {
		return fmt.Sprintf("hall of fame: %s, mean return %.4g ± %.2g", play.Fame(1), first.Mean, first.Error)
	}
	return fmt.Sprintf("hall of fame: %s to %s, mean returns %.4g ± %.2g to %.4g ± %.2g", play.Fame(1),
		play.Fame(len(s.fame)), first.Mean, first.Error, last.Mean, last.Error)
}
