package session

import (
	"fmt"
	"strconv"
	"strings"

	"xlarun/rollout/run"
)

// writeHall writes the hall of fame, one file a member.
func (s *Options) writeHall(step int64, hall []*Member) error {
	for i, f := range hall {
		m := s.describeEvaluated(step, f)
		m["fitness"], m["fitness_"+s.Kind.Unit] = fmt.Sprint(f.Fitness), strconv.FormatInt(f.Step, 10)
		if err := s.Folder.WriteArrays(run.HallOfFameMember(i+1)+".safetensors", f.Params, m); err != nil {
			return err
		}
	}
	return nil
}

// hallJSON returns the hall of fame for the outcome's JSON.
func (s *session) hallJSON() []Object {
	all := []Object{}
	for i, f := range s.hall {
		all = append(all, append(Object{{Name: "member", Value: run.HallOfFameMember(i + 1)},
			{Name: "fitness", Value: run.Finite(f.Fitness)}, {Name: s.Kind.Unit, Value: f.Step}}, f.facts()...))
	}
	return all
}

// hallText returns the hall of fame, which has a member at least, as a line.
func (s *session) hallText() string {
	n := len(s.hall)
	first, last := s.hall[0].whenChosen(), s.hall[n-1].whenChosen()
	const when = "when the best one was chosen"
	if n == 1 {
		return fmt.Sprintf("hall of fame: %s, mean return %v %s", run.HallOfFameMember(1), first, when)
	}
	return fmt.Sprintf("hall of fame: %s to %s, mean returns %v to %v %s", run.HallOfFameMember(1),
		run.HallOfFameMember(n), first, last, when)
}

// memberName is the name of the best member for people. One of the hall of fame is the first of it: that is sorted by
// the mean returns that it was chosen by.
func memberName(candidate string) string {
	if candidate == run.HallOfFame {
		return run.HallOfFameMember(1)
	}
	return strings.ReplaceAll(candidate, "_", " ")
}
