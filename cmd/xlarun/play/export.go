package play

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
)

// The format of exported members. docs/reference/member-file.md describes the keys.
const (
	exportFormat  = "xlarun member"
	exportVersion = "1"
)

// ExportCommand is `xlarun export`.
func ExportCommand(streams console.Streams) *cobra.Command {
	member, actions, out, force, critic := "", "", "", false, false
	cmd := &cobra.Command{
		Use:   "export RUN|" + memberFile + " --out FILE",
		Short: "Write a saved member for other programs",
		Long: "Export writes the best member that a run saved (its final one where no best one was judged yet) as a " +
			"safetensors file with all that a reader in another language needs: the layers and the function between " +
			"them, the environment and its spaces, and how outputs become actions. Of a run of sparse networks it " +
			"writes the best one's connections.\n" +
			formatsHelp(),
		Example: "  xlarun export runs/20260102-150405-CartPole-v1 --out champion.safetensors\n" +
			"  xlarun export runs/20260102-150405-CartPole-v1 --out champion.onnx\n" +
			"  xlarun export runs/20260102-150405-Forage-L0-v1 --out champion.nir",
		Args: console.OneArgument("the folder of a run, or a member's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := Open(args[0], member)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("actions") {
				if err := s.setActions(actions); err != nil {
					return err
				}
			}
			if err := checkTarget(out, force); err != nil {
				return err
			}
			metadata, err := s.describe()
			if err != nil {
				return err
			}
			if critic {
				if err := s.addCritic(metadata, out); err != nil {
					return err
				}
			}
			if err := s.write(out, metadata); err != nil {
				return err
			}
			if s.Notice != "" {
				fmt.Fprintln(streams.Out, s.Notice)
			}
			if f, _ := formatOf(out); !f.arrays {
				_, err = fmt.Fprintf(streams.Out, "%s is in %s\n", s, out)
				return err
			}
			_, err = fmt.Fprintf(streams.Out, "%s is in %s: %s\n", s, out, strings.Join(s.names(), ", "))
			return err
		},
	}
	addMember(cmd, &member)
	AddAllowed(cmd.Flags())
	addActions(cmd.Flags(), &actions)
	cmd.Flags().StringVar(&out, "out", "", "file to write, "+endings(formats, "FILE"))
	cmd.Flags().BoolVar(&critic, "critic", false, "add the critic of the newest checkpoint, of a run of ppo")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file where there is one")
	return cmd
}

// write writes the member in the format of the file's ending.
func (s *Saved) write(out string, metadata map[string]string) error {
	f, _ := formatOf(out)
	if f.encode == nil {
		return s.save(out, metadata)
	}
	data, err := f.encode(s, metadata)
	if err != nil {
		return console.BadInput("--out %s: %w; a name that ends in %s takes any member", out, err, suffix)
	}
	return written(out, console.WriteFile(out, data))
}

// save writes a safetensors file with a digest.
func (s *Saved) save(out string, metadata map[string]string) error {
	metadata, err := safetensors.WithDigest(s.Arrays, metadata)
	if err != nil {
		return err
	}
	return written(out, safetensors.Save(out, s.Arrays, metadata))
}

func written(out string, err error) error {
	if err != nil {
		return fmt.Errorf("--out %s cannot be written (%w): give another file", out, console.Cause(err))
	}
	return nil
}

// addCritic adds the critic that the run wrote with its newest checkpoint, with names that begin with "Critic.".
func (s *Saved) addCritic(metadata map[string]string, out string) error {
	if f, _ := formatOf(out); !f.critic {
		return console.BadInput("--critic goes with a file that ends in %s, not with %s: only such a file has more "+
			"than the actor", suffix, out)
	}
	if s.Run == "" {
		return console.BadInput("--critic wants the folder of a run, not a file: a file has what it was exported with")
	}
	path := filepath.Join(s.Run, run.CriticFile)
	if !console.Exists(path) {
		return console.BadInput("--critic: the run %s has no %s: only ppo has a critic, and with --shared it is a "+
			"part of the actor", s.Run, run.CriticFile)
	}
	c := &Saved{Path: path}
	if err := c.read(); err != nil {
		return err
	}
	if of := c.Metadata["policy"]; of != "" && of != s.Metadata["policy"] {
		return console.BadInput("--critic: the critic of the run %s is %s, and a file describes one network, %s: take "+
			"the critic's parameters from %s", s.Run, of, s.Metadata["policy"], run.CriticFile)
	}
	for name, a := range c.Arrays {
		s.Arrays["Critic."+name] = a
	}
	metadata["value"] = c.Metadata["value"]
	return nil
}

// setActions changes how the member will act.
func (s *Saved) setActions(actions string) error {
	if kind := s.Metadata["kind"]; !s.Acts() && kind != "" {
		return console.BadInput("--actions got %s, but a member of a run of %s acts in no environment: leave it out",
			actions, kind)
	}
	m, err := s.Member()
	if err != nil {
		return err
	}
	if err := setActions(m, actions, true); err != nil {
		return err
	}
	if s.Metadata["actions"] != actions { // the results are those of the other way
		for _, key := range []string{"mean_return", "standard_error", "failed_episodes"} {
			delete(s.Metadata, "choice_"+key)
			delete(s.Metadata, key)
			if x, ok := s.Metadata[actions+"_"+key]; ok {
				s.Metadata[key] = x
			}
		}
	}
	episode.DescribeActions(s.Metadata, m.Policy, actions)
	return nil
}

// checkTarget returns an error if the file must not or cannot be written.
func checkTarget(out string, force bool) error {
	if out == "" {
		return console.BadInput("--out is missing: give the file to write, such as champion%s", suffix)
	}
	if _, ok := formatOf(out); !ok {
		return console.BadInput("--out got %s, wants a file that ends in %s, or in %s for other runtimes", out, suffix,
			endings(formats[1:], ""))
	}
	if err := checkParent("--out", out); err != nil {
		return err
	}
	info, err := os.Lstat(out)
	switch {
	case err != nil:
		return nil
	case !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0:
		return console.BadInput("--out %s is there and is no file: give another name", out)
	case !force:
		return console.BadInput("--out %s is there already: give another name, or --force to overwrite it", out)
	}
	return nil
}

// describe returns the metadata of the exported file: the member's metadata, and a description for other programs.
func (s *Saved) describe() (map[string]string, error) {
	metadata := maps.Clone(s.Metadata)
	metadata["format"], metadata["format_version"] = exportFormat, exportVersion
	if !s.Acts() && s.Metadata["kind"] != "" && !strings.HasSuffix(s.Metadata["format"], "checkpoint") {
		return metadata, nil // there is nothing to describe except the arrays
	}
	m, err := s.Member()
	if err != nil {
		return nil, err
	}
	if err := s.addDrawn(m); err != nil {
		return nil, err
	}
	return metadata, describeMember(m, metadata)
}

// addDrawn adds the perceptron that a genome draws, for programs that know no genomes.
func (s *Saved) addDrawn(m *episode.Member) error {
	draw := m.Policy.Traits().Drawn
	if draw == nil {
		return nil
	}
	var drawn policy.Params
	if err := graph.Try(func() { drawn = draw(m.Params) }); err != nil {
		return err
	}
	drawn, err := graph.Eval(drawn)
	if err != nil {
		return err
	}
	leaves, tree := graph.Flatten(drawn)
	for i, a := range leaves {
		s.Arrays[safetensors.Name(tree.Path(i))] = a
	}
	return nil
}

func describeMember(m *episode.Member, metadata map[string]string) error {
	spec := m.Env.Spec()
	for key, s := range map[string]envs.Space{"observation_space": spec.Observation, "action_space": spec.Action} {
		text, err := json.Marshal(envs.DescribeSpace(s))
		if err != nil {
			return err
		}
		metadata[key] = string(text)
	}
	metadata["head"] = "tanh"
	switch spec.Action.(type) {
	case envs.Discrete, envs.MultiDiscrete:
		metadata["head"] = "argmax"
	}
	more, err := describePolicy(m.Policy, m.Params)
	maps.Copy(metadata, more)
	return err
}

// describePolicy returns what the numbers in a policy's parameters stand for, as metadata.
func describePolicy(p policy.Policy, params any) (map[string]string, error) {
	metadata := map[string]string{}
	describe := p.Traits().Describe
	if describe == nil {
		return metadata, nil
	}
	values, err := describe(params)
	if err != nil {
		return nil, err
	}
	for key, value := range values {
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		metadata[key] = text
	}
	return metadata, nil
}
