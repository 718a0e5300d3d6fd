package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/play"
	"xlarun/graph/safetensors"
	"xlarun/internal/quantity"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
)

// mostSampled is the largest number of members that are sampled.
const mostSampled = 1000

// sampleCommand returns `xlarun sample`.
func sampleCommand(a *App) *cobra.Command {
	var on console.BackendFlags
	members, out := 3, ""
	cmd := &cobra.Command{
		Use:   "sample RUN",
		Short: "Write the episodes of a few members of a run's population",
		Long: "Sample takes some members of the population that a run plays after its newest checkpoint. The run may " +
			"still be under way. Sample makes the members again from the saved state and plays the same episode as " +
			"the run, the first if there are several. It writes observations, actions and rewards of each step into " +
			"one safetensors file. If the kind of run cannot make its members again, Sample takes those that the run " +
			"saved.",
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
				out = filepath.Join(args[0], session.TrajectoriesName)
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
			seed, snapshot := t.On().Seed, run.Snapshot{Step: c.Step, Arrays: c.Arrays}
			sampled, err := session.Sample(b, t.job.Play, seed, snapshot, members,
				func() ([]run.Candidate, error) { return savedMembers(args[0]) })
			if err != nil {
				return err
			}
			if len(sampled) == 0 {
				return console.BadInput("there is no member to sample: wait for the run's first checkpoint")
			}
			if len(sampled) < members {
				fmt.Fprintf(a.Out, "the run has %s to sample, %d were asked for\n",
					quantity.Count(len(sampled), "member", "members"), members)
			}
			played, err := session.Play(b, t.Kind, t.job.Play, seed, snapshot, sampled, console.Version())
			if err != nil {
				return err
			}
			metadata, err := safetensors.WithDigest(played.Arrays, played.Metadata)
			if err != nil {
				return err
			}
			if err := safetensors.Save(out, played.Arrays, metadata); err != nil {
				return fmt.Errorf("--out %s cannot be written (%w): give another file", out, console.Cause(err))
			}
			for _, e := range played.Episodes {
				fmt.Fprintf(a.Out, "%s: %s, return %s, ended by %s\n", e.Member,
					quantity.Count(e.Steps, "step", "steps"), strings.TrimSuffix(display.Fitness(e.Return), ".0"),
					e.EndedBy)
			}
			_, err = fmt.Fprintf(a.Out, "the episodes are in %s\n", out)
			return err
		},
	}
	cmd.Flags().IntVar(&members, "members", members, "members to sample")
	cmd.Flags().StringVar(&out, "out", "", "file to write, FILE.safetensors (default "+session.TrajectoriesName+
		" in the run's folder)")
	play.AddAllowed(cmd.Flags())
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
	t, err := (&flagValues{resumed: dir, inspects: true}).resolve(kind, "", file)
	if err != nil {
		return nil, nil, err
	}
	if t.job.Play == nil {
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

// savedMembers reads the members in a run's folder.
func savedMembers(dir string) (all []run.Candidate, err error) {
	names := []string{run.BestMember, run.FinalMember}
	for i := 1; console.Exists(filepath.Join(dir, run.HallOfFameMember(i)+".safetensors")); i++ {
		names = append(names, run.HallOfFameMember(i))
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
		all = append(all, run.Candidate{Name: name, Params: policy.Acting(m.Params, m.Actions())})
	}
	return all, nil
}
