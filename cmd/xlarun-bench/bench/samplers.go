package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/cmd/xlarun-bench/bench/samplerbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/studies/study"
)

// samplerNames are the samplers that Optuna has too.
var samplerNames = []string{"random", "quasi-random", "tpe", "cmaes", "nsga2"}

// newSampler returns a sampler by its name. The grid is one of the numbers x and y from 0 to 1.
func newSampler(name string) (study.Sampler, error) {
	switch name {
	case "quasi-random":
		return &study.Halton{}, nil
	case "grid":
		unit := study.Distribution{Kind: study.Float, High: 1}
		return study.NewGrid(study.Space{{Name: "x", Distribution: unit}, {Name: "y", Distribution: unit}}, 128)
	case "cmaes":
		return &study.CMAES{}, nil
	case "nsga2":
		return &study.NSGA2{}, nil
	case "tpe":
		return &study.TPE{}, nil
	}
	return study.Random{}, nil
}

type samplerFlags struct {
	peers, json bool
	python      string
	limit       time.Duration
	seeds       int
	marks       []int
	keep, out   string
}

func samplersCommand(h *host) *cobra.Command {
	o := samplerFlags{seeds: 20, marks: []int{50, 200}}
	cmd := &cobra.Command{
		Use:   "samplers [SAMPLER...]",
		Short: "Compare samplers of studies with Optuna's",
		Long: "Bench samplers minimizes ten functions of black-box optimization benchmarking, each with an " +
			"optimum and rotations of the seed, and a table of " +
			"searches on CartPole-v1. With --peers Optuna's sampler of the same name gets the same instances; the " +
			"best values after so many trials are compared, " +
			"seed by seed, by the exact signed-rank test of Wilcoxon with Holm's correction over all comparisons of " +
			"a sampler.\n\nSamplers: " + strings.Join(samplerNames, ", "),
		Example: "  xlarun bench samplers --peers\n  xlarun bench samplers tpe --peers --seeds 5 " +
			"--trials 50",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if !slices.Contains(samplerNames, name) {
					return console.BadInput("there is no sampler %q to compare with Optuna's%s; there are %s", name,
						console.DidYouMean(name, samplerNames), strings.Join(samplerNames, ", "))
				}
			}
			if len(args) == 0 {
				args = samplerNames
			}
			if err := o.checkSamplers(); err != nil {
				return err
			}
			return (&samplerBench{host: h, flags: o}).run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.seeds, "seeds", o.seeds, "studies of a problem, each of another instance")
	f.IntSliceVar(&o.marks, "trials", o.marks, "trials after which the best values are compared, rising")
	addPeers(f, &o.peers, &o.python, &o.limit)
	f.StringVar(&o.keep, "keep", "", "file with a line of JSON for each of Optuna's answers; those that it has are "+
		"not asked for again")
	f.StringVar(&o.out, "out", "", "file for the table, in Markdown")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
	return cmd
}

func (o *samplerFlags) checkSamplers() error {
	if o.seeds < 1 || o.seeds > 50 {
		return console.BadInput("--seeds got %d, wants 1 to 50", o.seeds)
	}
	for i, m := range o.marks {
		if m < 1 || i > 0 && m <= o.marks[i-1] {
			return console.BadInput("--trials got %v, wants rising numbers of 1 or more", o.marks)
		}
	}
	if len(o.marks) == 0 {
		return console.BadInput("--trials got no number, wants rising numbers of 1 or more")
	}
	for _, f := range []struct{ flag, value string }{{"--out", o.out}, {"--keep", o.keep}} {
		if f.value != "" && !o.peers {
			return console.BadInput("%s got %q, but there is nothing to compare: add --peers", f.flag, f.value)
		}
	}
	return nil
}

// samplerQuestion is what optuna_samplers.py is asked.
type samplerQuestion struct {
	Sampler   string                  `json:"sampler"`
	Problem   string                  `json:"problem"`
	Dims      int                     `json:"dims"`
	Marks     []int                   `json:"marks"`
	Instances []samplerbench.Instance `json:"instances"`
	Table     *samplerbench.Table     `json:"table,omitempty"`
	Probes    [][]float64             `json:"probes"` // of the first instance, and its values there
	Values    []float64               `json:"values"`
}

// bests are the best values of each seed, after each of the marks.
type bests [][]float64

// keptAnswer is a line of --keep.
type keptAnswer struct {
	Sampler string `json:"sampler"`
	Problem string `json:"problem"`
	Digest  string `json:"digest"` // of the question
	Best    bests  `json:"best"`
}

type samplerBench struct {
	*host
	flags samplerFlags
	peer  *process
	kept  []keptAnswer
}

func (b *samplerBench) run(ctx context.Context, names []string) (err error) {
	if b.flags.peers {
		if b.kept, err = readKept[keptAnswer](b.flags.keep); err != nil {
			return err
		}
		var end func()
		if b.peer, end, err = startPeer(ctx, b.host, b.flags.python, "optuna_samplers.py", b.flags.limit); err != nil {
			return err
		}
		defer end()
	}
	var all []comparison
	for _, name := range names {
		var ours, theirs []bests
		for _, p := range samplerbench.Problems() {
			fmt.Fprintf(b.Err, "%s, %s\n", name, p.Name)
			best, err := ownBests(ctx, name, p, b.flags.seeds, b.flags.marks)
			if err != nil {
				return err
			}
			ours = append(ours, best)
			if b.peer != nil {
				q, err := newSamplerQuestion(name, p, b.flags.seeds, b.flags.marks)
				if err != nil {
					return err
				}
				if best, err = b.ask(q); err != nil {
					return err
				}
				theirs = append(theirs, best)
			}
		}
		all = append(all, compareSamplers(name, b.flags.marks, ours, theirs))
	}
	if err := printComparisons(b.Out, all, "OPTUNA", b.flags.peers); err != nil {
		return err
	}
	if b.flags.out != "" {
		if err := os.WriteFile(b.flags.out, []byte(b.markdown(all)), 0o644); err != nil {
			return err
		}
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"comparisons": all})
	}
	return nil
}

// ownBests runs our sampler on the instances of the seeds, trials one after the other.
func ownBests(ctx context.Context, name string, p samplerbench.Problem, seeds int, marks []int) (all bests, err error) {
	for seed := range seeds {
		sampler, err := newSampler(name)
		if err != nil {
			return nil, err
		}
		s, err := study.New(p.Name, study.Options{Sampler: sampler, Seed: int64(seed)})
		if err != nil {
			return nil, err
		}
		objective, err := p.Objective(p.Instance(seed))
		if err != nil {
			return nil, err
		}
		var row []float64
		done := 0
		for _, m := range marks {
			if err := s.Optimize(ctx, m-done, 1, objective); err != nil {
				return nil, err
			}
			done = m
			best, err := s.Best()
			if err != nil {
				return nil, err
			}
			if len(best) == 0 {
				return nil, fmt.Errorf("sampler %s on %s: all trials failed", name, p.Name)
			}
			row = append(row, best[0].Values[0])
		}
		all = append(all, row)
	}
	return all, nil
}

func newSamplerQuestion(name string, p samplerbench.Problem, seeds int, marks []int) (samplerQuestion, error) {
	q := samplerQuestion{Sampler: name, Problem: p.Name, Dims: p.Dims, Marks: marks}
	for seed := range seeds {
		q.Instances = append(q.Instances, p.Instance(seed))
	}
	if p.Name == samplerbench.TableName {
		t, err := samplerbench.CartPole()
		q.Table = &t
		return q, err
	}
	q.Probes = append(q.Probes, q.Instances[0].Optimum)
	for k := range 5 {
		x := make([]float64, p.Dims)
		for i := range x {
			x[i] = float64((7*k+3*i)%10) - 4.5
		}
		q.Probes = append(q.Probes, x)
	}
	for _, x := range q.Probes {
		q.Values = append(q.Values, p.Value(x, q.Instances[0]))
	}
	return q, nil
}

// ask finds an answer among those that are kept, or asks for it.
func (b *samplerBench) ask(q samplerQuestion) (bests, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(text))[:16]
	for _, k := range b.kept {
		if k.Digest == digest {
			return k.Best, nil
		}
	}
	var a struct{ Best bests }
	if err := b.peer.ask(q, &a); err != nil {
		return nil, err
	}
	if len(a.Best) != len(q.Instances) || slices.ContainsFunc(a.Best, func(row []float64) bool {
		return len(row) != len(q.Marks)
	}) {
		return nil, fmt.Errorf("the peer %s answered with %d studies, want %d with %d values each", b.peer.name,
			len(a.Best), len(q.Instances), len(q.Marks))
	}
	return a.Best, keep(b.flags.keep, keptAnswer{q.Sampler, q.Problem, digest, a.Best})
}

// samplerResolution is the value up to which an optimum counts as found.
const samplerResolution = 1e-8

// compareSamplers compares a sampler's best values on all problems; without a peer's, nothing is better or worse.
func compareSamplers(name string, marks []int, ours, theirs []bests) comparison {
	c := comparison{Sampler: name}
	for i, p := range samplerbench.Problems() {
		for m, trials := range marks {
			values := func(b bests) []float64 {
				return each(b, func(row []float64) float64 { return max(row[m], samplerResolution) })
			}
			var peers []float64
			if theirs != nil {
				peers = values(theirs[i])
			}
			l := problemLine{Problem: p.Name, Dims: p.Dims, Trials: trials}
			c.Lines = append(c.Lines, l.fill(bbob.SignedRank, samplerResolution, values(ours[i]), peers))
		}
	}
	return c.count()
}
