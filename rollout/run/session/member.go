package session

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// describe returns the metadata of a member, with which episode.Load makes it act again. actions is how it acts, "" for
// the way of training.
func (s *Options) describe(step int64, name string, member any, actions string) map[string]string {
	own := settings.Values{}
	spec := ""
	for _, c := range settings.ChosenParts(s.Experiment) {
		if c.Name != "policy" {
			continue
		}
		f, _ := settings.Lookup(s.Experiment, c.Name)
		spec = f.Text()
		for _, x := range settings.Fields(c.Settings) {
			if !run.InChoice(s.Experiment, c, x) {
				own[x.Name] = x.Value()
			}
		}
	}
	env, steps := "", 0
	var params []episode.EnvParam
	var network policy.Policy
	if p := s.Job.Play; p != nil {
		if r, err := p.Rollout(); err == nil {
			env, steps, params, network = r.Env.Spec().ID, r.Steps, r.Given, r.Policy
		}
	}
	if network != nil {
		traits := network.Traits()
		if traits.File != nil {
			maps.Copy(own, traits.File.Without)
		}
		if traits.Sizes != nil {
			maps.Copy(own, traits.Sizes(member))
		}
	}
	m := episode.Describe(env, spec, own, steps)
	episode.DescribeParams(m, params)
	episode.DescribeNormalized(m, network)
	episode.DescribeActions(m, network, actions)
	maps.Copy(m, map[string]string{"kind": s.Kind.Name, "member": name, s.Kind.Unit: strconv.FormatInt(step, 10),
		"seed": strconv.FormatInt(s.Experiment.On().Seed, 10), "xlarun": s.Version})
	return m
}

// describeEvaluated returns the metadata of a member with its result.
func (s *Options) describeEvaluated(step int64, m *Member) map[string]string {
	about := s.describe(step, m.Name, m.Params, m.Actions)
	for _, f := range slices.Concat(m.facts(), m.wayFacts()) {
		switch x := f.Value.(type) {
		case *float64: // of run.Finite
			if x != nil {
				about[f.Name] = fmt.Sprint(*x)
			}
		default:
			about[f.Name] = fmt.Sprint(x)
		}
	}
	return about
}

// writeMember writes an evaluated member.
func (s *Options) writeMember(file string, step int64, m *Member) error {
	return s.Folder.WriteArrays(file+".safetensors", m.Params, s.describeEvaluated(step, m))
}

// writeFinal writes the mean of a state without evaluating it: nothing on the devices is touched.
func (s *Options) writeFinal(of run.Snapshot, members run.Members) error {
	candidates, err := members.Candidates(of)
	if err != nil || len(candidates) == 0 {
		return err
	}
	c := candidates[0]
	return s.Folder.WriteArrays(run.FinalMember+".safetensors", c.Params, s.describe(of.Step, c.Name, c.Params, ""))
}

// furtherFiles returns the kind's further files of a state.
func (s *Options) furtherFiles(can *run.Capabilities, of run.Snapshot, over bool) ([]run.File, error) {
	if can.Files == nil || s.Folder == nil {
		return nil, nil
	}
	return can.Files(of, over)
}

// merged returns files, with those of newer instead of files of the same name.
func merged(files, newer []run.File) []run.File {
	all := slices.Clone(newer)
	for _, f := range files {
		if !slices.ContainsFunc(newer, func(n run.File) bool { return n.Name == f.Name }) {
			all = append(all, f)
		}
	}
	return all
}

// writeFiles writes the kind's further files of the held state.
func (s *session) writeFiles() error {
	files := s.files
	if err := s.do(func() error { return s.putFiles(files) }); err != nil {
		return err
	}
	s.files = nil
	return nil
}

func (s *Options) putFiles(files []run.File) (err error) {
	for _, x := range files {
		switch {
		case x.Data != nil:
			err = s.Folder.Write(x.Name, x.Data)
		case x.Arrays != nil:
			m := map[string]string{}
			maps.Copy(m, x.Metadata)
			m["xlarun"] = s.Version
			err = s.Folder.WriteArrays(x.Name, x.Arrays, m)
		default:
			err = s.Folder.WriteJSON(x.Name, x.JSON)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
