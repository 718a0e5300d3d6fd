package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/play"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

const (
	trajectoriesName = "trajectories.safetensors"
	mostSampled      = 1000
)

// sampleCommand is `xlarun sample`.
func sampleCommand(a *App) *cobra.Command {
	var on console.BackendFlags
	members, out := 3, ""
	cmd := &cobra.Command{
		Use:   "sample RUN",
		Short: "Write the episodes of a few members of a run's population",
		Long: "Sample takes some members of the population that a run (it may be still at work) plays next after its " +
			"newest checkpoint: it makes them\n" +
			"again of the saved state, plays the episode that they play there, the first where there are several, " +
			"and writes what they saw, did\n" +
			"and got in each step into one safetensors file. Of a kind of run whose members cannot be made again it " +
			"takes those that it saved.",
		Example: "  xlarun sample runs/20260102-150405-CartPole-v1 --members 5 --out episodes.safetensors",
		Args:    console.OneArgument("the folder of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if members < 1 || members > mostSampled {
				return console.BadInput("--members got %d, wants 1 to %d", members, mostSampled)
			}
			if err := on.Check(); err != nil {
				return err
			}
			t, c, err := readSampled(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(args[0], trajectoriesName)
			}
			if info, err := os.Stat(filepath.Dir(out)); err != nil || !info.IsDir() || filepath.Ext(out) !=
				".safetensors" {
				return console.BadInput("--out got %q, wants a file that ends in .safetensors, in a folder that "+
					"is there", out)
			}
			on.Devices = max(1, t.On().Devices)
			b, err := a.OpenBackend(cmd.Context(), on, display.NewDownloadBar(a.Out, a.Getenv))
			if err != nil {
				return err
			}
			defer func() { _ = b.Close() }()
			snapshot := run.Snapshot{Step: c.Step, Arrays: c.Arrays}
			sampled, err := t.sample(b, snapshot, members, func() ([]run.Candidate, error) {
				return savedMembers(args[0])
			})
			if err != nil {
				return err
			}
			arrays, metadata, lines, err := t.trajectories(b, snapshot, sampled)
			if err != nil {
				return err
			}
			if metadata, err = safetensors.WithDigest(arrays, metadata); err != nil {
				return err
			}
			if err := safetensors.Save(out, arrays, metadata); err != nil {
				return fmt.Errorf("--out %s cannot be written (%w): give another file", out, console.Cause(err))
			}
			for _, line := range lines {
				fmt.Fprintln(a.Out, line)
			}
			_, err = fmt.Fprintf(a.Out, "the episodes are in %s\n", out)
			return err
		},
	}
	cmd.Flags().IntVar(&members, "members", members, "members to sample")
	cmd.Flags().StringVar(&out, "out", "", "file to write, FILE.safetensors (default "+trajectoriesName+
		" in the run's folder)")
	on.AddBackend(cmd.Flags())
	return cmd
}

// readSampled reads a run's settings and its newest checkpoint.
func readSampled(dir string) (*task, *runfolder.Checkpoint, error) {
	path := filepath.Join(dir, "config.toml")
	if !console.Exists(path) {
		return nil, nil, console.BadInput("%s is no folder of a run, as it has no config.toml", dir)
	}
	file, _, err := resumeConfig(dir, path)
	if err != nil {
		return nil, nil, err
	}
	name, err := file.kind()
	if err != nil {
		return nil, nil, err
	}
	if name == "" {
		name = defaultKind
	}
	kind, _ := run.Lookup(name)
	t, err := (&flagValues{}).resolve(kind, "", file)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := t.Experiment.(run.Player); !ok {
		return nil, nil, console.BadInput("%s is a run of %s, whose members play no episodes", dir, name)
	}
	folder, err := runfolder.Read(dir, runfolder.Options{})
	if err != nil {
		return nil, nil, console.BadInput("%s cannot be read: %w", dir, err)
	}
	defer func() { _ = folder.Close() }()
	c, _, err := folder.Newest()
	if err == nil && (c.Kind != t.Name || c.Format != t.Version) {
		err = fmt.Errorf("its state is of version %d of %s, this xlarun has version %d of %s", c.Format, c.Kind,
			t.Version, t.Name)
	}
	if err != nil {
		return nil, nil, console.BadInput("%s: %w", dir, err)
	}
	return t, &c, nil
}

// savedMembers are the members in a run's folder.
func savedMembers(dir string) (all []run.Candidate, err error) {
	names := []string{play.Best, play.Centre}
	for i := 1; console.Exists(filepath.Join(dir, play.Fame(i)+".safetensors")); i++ {
		names = append(names, play.Fame(i))
	}
	for _, name := range names {
		saved, err := play.Open(dir, name)
		if err != nil {
			return nil, err
		}
		m, err := saved.Member()
		if err != nil {
			return nil, err
		}
		all = append(all, run.Candidate{Name: name, Params: m.Params})
	}
	return all, nil
}

// sample chooses members of the population after a state, by the seed and the step alone, or, where they cannot be made
// again, of those that are known.
func (t *task) sample(b xlabridge.Backend, s run.Snapshot, n int,
	known func() ([]run.Candidate, error)) ([]run.Sampled, error) {
	if from, ok := t.Experiment.(run.Sampler); ok {
		all, err := from.Members(s)
		if err != nil {
			return nil, err
		}
		draw := rand.New(rand.NewPCG(uint64(t.On().Seed), uint64(s.Step)))
		chosen := map[int]bool{}
		var numbers []int
		for len(numbers) < min(n, all) {
			if i := draw.IntN(all); !chosen[i] {
				chosen[i], numbers = true, append(numbers, i)
			}
		}
		slices.Sort(numbers)
		return from.Remake(b, s, numbers)
	}
	candidates, err := known()
	var all []run.Sampled
	for i, c := range candidates[:min(n, len(candidates))] {
		all = append(all, run.Sampled{Candidate: c, Number: i, Key: play.Key(t.On().Seed + 1)})
	}
	return all, err
}

// trajectories plays the members and gives what they saw, did and got: of member i the arrays "i.observations",
// "i.actions" and "i.rewards", with a row a step. lines are for people.
func (t *task) trajectories(b xlabridge.Backend, s run.Snapshot,
	members []run.Sampled) (arrays map[string]*graph.Array, metadata map[string]string, lines []string, err error) {
	r, err := t.Experiment.(run.Player).Rollout()
	if err != nil {
		return nil, nil, nil, err
	}
	if len(members) == 0 {
		return nil, nil, nil, console.BadInput("there is no member to sample: wait for the run's first checkpoint")
	}
	recorder, err := episode.NewTracer(b, r, members[0].Params)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = recorder.Close() }()
	arrays = map[string]*graph.Array{}
	metadata = map[string]string{"format": "xlarun trajectories", "format_version": "1", "kind": t.Name,
		t.Unit: strconv.FormatInt(s.Step, 10), "env": r.Env.Spec().ID,
		"seed": strconv.FormatInt(t.On().Seed, 10), "members": strconv.Itoa(len(members)), "xlarun": console.Version()}
	episode.DescribeParams(metadata, r.Given)
	for i, m := range members {
		key := m.Key
		if r.Episodes > 1 {
			key = random.FoldIn(key, 0)
		}
		rec, err := recorder.Record(m.Params, key)
		if err != nil {
			return nil, nil, nil, err
		}
		at := strconv.Itoa(i) + "."
		for name, a := range rec.Trajectory() {
			arrays[at+name] = a
		}
		ended := "steps"
		if rec.Terminated {
			ended = "terminated"
		} else if rec.Truncated {
			ended = "truncated"
		}
		total := strconv.FormatFloat(rec.Return(rec.Length), 'g', -1, 64)
		metadata[at+"member"], metadata[at+"return"], metadata[at+"ended_by"] = m.Name, total, ended
		lines = append(lines, fmt.Sprintf("%-28s %s, return %s, ended by %s", m.Name, console.Count(rec.Length, "step",
			"steps"), strings.TrimSuffix(display.Fitness(rec.Return(rec.Length)), ".0"), ended))
	}
	return arrays, metadata, lines, nil
}

// writeTrajectories is --sample: the episodes of a few members after the run's last state.
func (s *session) writeTrajectories() error {
	p, ok := s.Experiment.(interface{ Sampled() int })
	if !ok || p.Sampled() == 0 || s.folder == nil {
		return nil
	}
	snapshot := run.Snapshot{Step: s.held.Step, Arrays: s.held.Arrays}
	members, err := s.sample(s.backend, snapshot, p.Sampled(), func() ([]run.Candidate, error) {
		if c, ok := s.run.(run.Chooser); ok {
			return c.Candidates(snapshot)
		}
		return nil, nil
	})
	if err != nil || len(members) == 0 {
		return err
	}
	arrays, metadata, _, err := s.trajectories(s.backend, snapshot, members)
	if err != nil {
		return err
	}
	return s.folder.WriteArrays(trajectoriesName, arrays, metadata)
}
