package session

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// TrajectoriesName is the file of the sampled episodes.
const TrajectoriesName = "trajectories.safetensors"

// Sample chooses n members of the population that plays after a state. The seed and the step alone decide which. If
// members cannot be made again, Sample takes the first of those that saved returns.
func Sample(b xlabridge.Backend, p *run.Play, seed int64, s run.Snapshot, n int,
	saved func() ([]run.Candidate, error)) ([]run.Sampled, error) {
	if p.Again != nil {
		all, err := p.Again.Count(s)
		if err != nil {
			return nil, err
		}
		draw := rand.New(rand.NewPCG(uint64(seed), uint64(s.Step)))
		chosen := map[int]bool{}
		var numbers []int
		for len(numbers) < min(n, all) {
			if i := draw.IntN(all); !chosen[i] {
				chosen[i], numbers = true, append(numbers, i)
			}
		}
		slices.Sort(numbers)
		return p.Again.Make(b, s, numbers)
	}
	candidates, err := saved()
	var members []run.Sampled
	for i, c := range candidates[:min(n, len(candidates))] {
		members = append(members, run.Sampled{Candidate: c, Number: i, Key: run.EpisodesKey(seed + 1)})
	}
	return members, err
}

// Trajectories are the episodes of a few members.
type Trajectories struct {
	// Arrays has, for member i, "i.observations", "i.actions" and "i.rewards", with a row a step.
	Arrays   map[string]*graph.Array
	Metadata map[string]string
	Episodes []Episode
}

// Episode is an episode of a member.
type Episode struct {
	Member  string
	Steps   int
	Return  float64
	EndedBy string // "terminated", "truncated" or "steps"
}

// Play plays an episode of each member: the first, if a member plays several. There is at least one member. version is
// the version of the program.
func Play(b xlabridge.Backend, kind run.Kind, p *run.Play, seed int64, s run.Snapshot, members []run.Sampled,
	version string) (*Trajectories, error) {
	r, err := p.Rollout()
	if err != nil {
		return nil, err
	}
	recorder, err := episode.NewTracer(b, r, members[0].Params)
	if err != nil {
		return nil, err
	}
	defer func() { _ = recorder.Close() }()
	t := &Trajectories{Arrays: map[string]*graph.Array{}, Metadata: map[string]string{
		"format": "xlarun trajectories", "format_version": "1", "kind": kind.Name,
		kind.Unit: strconv.FormatInt(s.Step, 10), "env": r.Env.Spec().ID,
		"seed": strconv.FormatInt(seed, 10), "members": strconv.Itoa(len(members)), "xlarun": version}}
	episode.DescribeParams(t.Metadata, r.Given)
	for i, m := range members {
		key := m.Key
		if r.Episodes > 1 {
			key = random.FoldIn(key, 0)
		}
		rec, err := recorder.Record(m.Params, key)
		if err != nil {
			return nil, err
		}
		at := strconv.Itoa(i) + "."
		for name, a := range rec.Trajectory() {
			t.Arrays[at+name] = a
		}
		x := Episode{Member: m.Name, Steps: rec.Length, Return: rec.Return(rec.Length), EndedBy: "steps"}
		if rec.Terminated {
			x.EndedBy = "terminated"
		} else if rec.Truncated {
			x.EndedBy = "truncated"
		}
		t.Metadata[at+"member"], t.Metadata[at+"ended_by"] = x.Member, x.EndedBy
		t.Metadata[at+"return"] = strconv.FormatFloat(x.Return, 'g', -1, 64)
		t.Episodes = append(t.Episodes, x)
	}
	return t, nil
}

// writeTrajectories writes the episodes of a few members after a state.
func (s *Options) writeTrajectories(b xlabridge.Backend, of run.Snapshot, members run.Members) error {
	p, seed := s.Job.Play, s.Experiment.On().Seed
	sampled, err := Sample(b, p, seed, of, p.Sampled, func() ([]run.Candidate, error) {
		if members != nil {
			return members.Candidates(of)
		}
		return nil, nil
	})
	if err != nil || len(sampled) == 0 {
		return err
	}
	t, err := Play(b, s.Kind, p, seed, of, sampled, s.Version)
	if err != nil {
		return err
	}
	return s.Folder.WriteArrays(TrajectoriesName, t.Arrays, t.Metadata)
}
