package play

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/envs"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Bounds of the flags.
const (
	maxEpisodes = 100_000
	maxSteps    = 1_000_000
	noPicture   = "none"
)

// options holds the flags.
type options struct {
	console.BackendFlags
	saved    *Saved
	episodes int
	seed     int64
	steps    int
	params   []string
	actions  string
	dynamics string
	parity   *parity // nil without dynamics
	episode  string  // best, median, worst, or a seed: which is drawn
	gif      string  // "" means no picture
	asked    bool    // for the picture, by --gif
	frames   int
	json     bool
}

// Command is `xlarun play`.
func Command(streams console.Streams, open console.Opener) *cobra.Command {
	o := options{episodes: 500, episode: episode.MedianEpisode}
	member := ""
	cmd := &cobra.Command{
		Use:   "play RUN|" + memberFile,
		Short: "Play a saved member on new episodes",
		Long: "Play takes the best member that a run saved (its final one where no best one was judged yet; the run " +
			"may be still at work), or the member of a file, such as a genome in JSON, and plays it on episodes that " +
			"neither the training nor the choice of the best member has seen. It reports mean, standard error, " +
			"spread, least and greatest return and the mean length, and draws the episode whose return is the median.",
		Example: "  xlarun play runs/20260102-150405-CartPole-v1\n  xlarun play champion.safetensors --episodes 2000 " +
			"--seed 7 --gif none --json",
		Args: console.OneArgument("the folder of a run, or a member's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := Open(args[0], member)
			if err != nil {
				return err
			}
			o.saved = saved
			m, err := saved.Member()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("dynamics") {
				if o.parity, err = saved.setDynamics(m, o.dynamics); err != nil {
					return err
				}
			}
			if err := o.resolve(m, cmd.Flags().Changed); err != nil {
				return err
			}
			b, err := open(cmd.Context(), o.BackendFlags, display.NewDownloadBar(streams.Out, streams.Getenv))
			if err != nil {
				return err
			}
			defer func() { _ = b.Close() }()
			return o.play(cmd.Context(), streams, b, m)
		},
	}
	f := cmd.Flags()
	addMember(cmd, &member)
	f.IntVar(&o.episodes, "episodes", o.episodes, "new episodes to play")
	f.Int64Var(&o.seed, "seed", 0, "seed of the episodes (default one more than the run's)")
	f.IntVar(&o.steps, "steps", 0, "steps of an episode at most (default as in the run)")
	addParams(f, &o.params)
	addActions(f, &o.actions)
	f.StringVar(&o.dynamics, "dynamics", "", "of a member with spiking neurons: play it with other dynamics than it "+
		"was trained with, fast or mechanistic or one of --policy.dynamics, and say what both return (default as in "+
		"the run)")
	f.StringVar(&o.gif, "gif", "", "file of the picture, none for no picture (default play.gif in the run's folder, "+
		"NAME-play.gif beside a file)")
	f.StringVar(&o.episode, "episode", o.episode, "which episode is drawn: of those that are played the one with "+
		"the best, median or worst return, or that of a seed, as xlarun render --seed draws it")
	f.IntVar(&o.frames, "frames", 0, "frames of the picture at most; 0 for one a step")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
	o.AddBackend(f)
	return withGames(cmd, streams, open, false)
}

// resolve checks the flags and sets the defaults of those that are not given.
func (o *options) resolve(m *episode.Member, given func(flag string) bool) error {
	if err := o.Check(); err != nil {
		return err
	}
	o.Devices = 1
	if o.episodes < 1 || o.episodes > maxEpisodes {
		return console.BadInput("--episodes got %d, wants 1 to %d", o.episodes, maxEpisodes)
	}
	if !given("seed") {
		o.seed = o.saved.freshSeed()
	}
	if !given("steps") {
		o.steps = m.Steps
	} else if o.steps < 1 || o.steps > maxSteps {
		return console.BadInput("--steps got %d, wants 1 to %d", o.steps, maxSteps)
	}
	m.Steps = o.steps
	if err := setParams(m, o.params); err != nil {
		return err
	}
	if err := setActions(m, o.actions, given("actions")); err != nil {
		return err
	}
	return o.resolvePicture(m, given)
}

func (o *options) resolvePicture(m *episode.Member, given func(flag string) bool) error {
	named := slices.Contains([]string{episode.BestEpisode, episode.MedianEpisode, episode.WorstEpisode}, o.episode)
	_, err := strconv.ParseInt(o.episode, 10, 64)
	switch {
	case !named && err != nil:
		return console.BadInput("--episode got %q, wants %s, %s, %s or a seed", o.episode, episode.BestEpisode,
			episode.MedianEpisode, episode.WorstEpisode)
	case o.gif == noPicture && given("episode"):
		return console.BadInput("--episode got %s, but --gif none draws no picture: leave one of them out", o.episode)
	case o.frames < 0:
		return console.BadInput("--frames got %d, wants 1 or more, or 0 for one a step", o.frames)
	case o.gif == noPicture && given("frames"):
		return console.BadInput("--frames got %d, but --gif none draws no picture: leave one of them out", o.frames)
	case o.gif == noPicture:
		o.gif = ""
		return nil
	}
	if envs.TraitsOf(m.Env).Draw == nil {
		if given("gif") || given("frames") || given("episode") {
			return console.BadInput("%s cannot be drawn: leave --gif, --frames and --episode out", m.Env.Spec().ID)
		}
		o.gif = ""
		return nil
	}
	if o.asked = given("gif"); !o.asked {
		if o.gif = o.saved.bare() + "-play.gif"; o.saved.Run != "" {
			o.gif = filepath.Join(o.saved.Run, "play.gif")
		}
		return nil
	}
	return checkGIF("--gif", o.gif)
}

// addMember adds the flags that choose the member of a run.
func addMember(cmd *cobra.Command, member *string) {
	f := cmd.Flags()
	f.StringVar(member, "member", "", "which member of the run: best, final, or hall-of-fame-1, hall-of-fame-2, … of "+
		"the hall of fame (default best, where there is one)")
	f.Var(cellFlag{member}, "cell", "of a run of qd: the elite of this cell of the archive")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.Changed("cell") && f.Changed("member") {
			return console.BadInput("--cell and --member each choose a member: leave one of them out")
		}
		return nil
	}
}

// checkParent returns an error if the folder of a flag's path does not exist.
func checkParent(flag, path string) error {
	parent := filepath.Dir(filepath.Clean(path))
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return console.BadInput("%s %s cannot be written: there is no folder %s", flag, path, parent)
	}
	return nil
}

// checkGIF returns an error if a GIF cannot be written to a flag's path.
func checkGIF(flag, path string) error {
	if filepath.Ext(path) != ".gif" {
		return console.BadInput("%s got %q, wants a file that ends in .gif, or none", flag, path)
	}
	if err := checkParent(flag, path); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return console.BadInput("%s %s cannot be written: it is a folder", flag, path)
	}
	return nil
}

// Result is the result that --json prints. A number that is not finite is null.
type Result struct {
	File       string   `json:"file"`
	Member     string   `json:"member"` // "best", "final"; "" for a file
	Candidate  string   `json:"candidate"`
	Kind       string   `json:"kind"`
	Env        string   `json:"env"`
	Policy     string   `json:"policy"`
	Backend    string   `json:"backend"`
	Seed       int64    `json:"seed"`
	Episodes   int      `json:"episodes"`
	Steps      int      `json:"steps"`                // limit of an episode
	Params     []string `json:"env_params,omitempty"` // NAME=VALUE, only those in the flags
	Actions    string   `json:"actions"`              // "sampled" or "greedy"
	Mean       *float64 `json:"mean_return"`
	Error      *float64 `json:"standard_error"`
	Std        *float64 `json:"standard_deviation"`
	Least      *float64 `json:"least_return"`
	Greatest   *float64 `json:"greatest_return"`
	MeanLength *float64 `json:"mean_length"`
	Full       int      `json:"full_episodes"` // that have all steps
	Failed     int      `json:"failed"`        // episodes whose return is not a number; the statistics leave them out
	Gif        string   `json:"gif,omitempty"`
	Drawn      string   `json:"gif_episode,omitempty"` // "best", "median", "worst", or its seed
	Length     int      `json:"gif_steps"`             // of that episode
	Return     *float64 `json:"gif_return"`            // of that episode
	// Reports holds the means of the values that environment and policy report of each episode, by name.
	Reports map[string]*float64 `json:"reports,omitempty"`
	// Parity is given with --dynamics.
	Parity     *parity `json:"parity,omitempty"`
	evaluation episode.EvalResult
}

// Evaluate plays a member on a number of new episodes of a seed.
func Evaluate(b xlabridge.Backend, m *episode.Member, episodes int, seed int64) (episode.EvalResult, error) {
	purpose := fmt.Sprintf("%s for %s, %d steps", m.Metadata["policy"], m.Env.Spec().ID, m.Steps)
	evaluator, err := episode.NewEvaluator(b, m.Rollout, m.Params, 1, episodes, purpose)
	if err != nil {
		return episode.EvalResult{}, err
	}
	defer func() { _ = evaluator.Close() }()
	all, err := evaluator.Play([]any{m.Params}, run.EpisodesKey(seed))
	if err != nil {
		return episode.EvalResult{}, err
	}
	return all[0], nil
}

// play evaluates the member, reports the result and draws an episode.
func (o *options) play(ctx context.Context, streams console.Streams, b xlabridge.Backend, m *episode.Member) error {
	evaluation, err := Evaluate(b, m, o.episodes, o.seed)
	if err != nil {
		return err
	}
	r := newResult(evaluation)
	reports := m.Reports()
	if reports != nil {
		r.Reports = map[string]*float64{}
		for i, name := range reports {
			r.Reports[name] = run.Finite(evaluation.Reports[i])
		}
	}
	meta := o.saved.Metadata
	r.Actions = m.Actions()
	r.File, r.Member, r.Candidate, r.Kind = o.saved.Path, o.saved.Which, meta["member"], meta["kind"]
	r.Env, r.Policy, r.Backend, r.Seed, r.Episodes, r.Steps, r.Params = m.Env.Spec().ID, meta["policy"], b.Backend(),
		o.seed, o.episodes, o.steps, o.params
	if o.parity != nil {
		if err := o.parity.compare(b, m, evaluation, o.episodes, o.seed); err != nil {
			return err
		}
		r.Parity = o.parity
	}
	o.print(streams, r)
	for i, name := range reports {
		fmt.Fprintf(streams.Out, "%-12s %.4g, mean\n", strings.ReplaceAll(name, "_", " "), evaluation.Reports[i])
	}
	if err := ctx.Err(); err != nil {
		return console.ErrInterrupted
	}
	if o.gif != "" {
		if err := o.picture(streams, b, m, &r); err != nil {
			return err
		}
	}
	if o.json {
		return streams.PrintJSON(r)
	}
	return nil
}

func (o *options) picture(streams console.Streams, b xlabridge.Backend, m *episode.Member, r *Result) error {
	key, which := run.EpisodesKey(o.seed), r.evaluation.Caption(o.episode)
	number := 0
	if seed, err := strconv.ParseInt(o.episode, 10, 64); err == nil {
		key, which = run.EpisodesKey(seed), seedText(seed)
	} else {
		number = r.evaluation.Episode(o.episode)
	}
	rec, err := episode.Record(b, m.Rollout, m.Params, random.FoldIn(key, number))
	if err != nil {
		return err
	}
	data, err := Draw(m.Env, rec, which, o.frames)
	if err != nil {
		return err
	}
	if err := console.WriteFile(o.gif, data); err != nil {
		if o.asked {
			return fmt.Errorf("the picture %s cannot be written (%w): --gif FILE writes it elsewhere, --gif none "+
				"leaves it out", o.gif, console.Cause(err))
		}
		_, err := fmt.Fprintf(streams.Out, "picture      none: %s cannot be written (%v); --gif FILE writes it "+
			"elsewhere\n", o.gif, console.Cause(err))
		return err
	}
	r.Gif, r.Drawn, r.Length, r.Return = o.gif, o.episode, rec.Length, run.Finite(rec.Return(rec.Length))
	if _, err = fmt.Fprintf(streams.Out, "picture      %s: %s, %s, return %s\n", o.gif, which,
		quantity.Count(rec.Length, "step", "steps"), returnText(rec.Return(rec.Length))); err != nil {
		return err
	}
	return o.saved.drawNetwork(streams, o.gif)
}

// newResult returns the statistics of an evaluation.
func newResult(e episode.EvalResult) Result {
	r := Result{Failed: e.Failed, Full: e.Full, evaluation: e}
	numbers := slices.DeleteFunc(slices.Clone(e.Return), math.IsNaN)
	if len(numbers) == 0 {
		return r
	}
	r.Mean, r.Error, r.Std = run.Finite(e.Mean), run.Finite(e.Error), run.Finite(e.Std)
	r.MeanLength = run.Finite(e.Length)
	r.Least, r.Greatest = run.Finite(slices.Min(numbers)), run.Finite(slices.Max(numbers))
	return r
}

func (o *options) print(streams console.Streams, r Result) {
	out := streams.Out
	fmt.Fprintf(out, "%s: %s for %s\n", o.saved, r.Policy, r.Env)
	if o.saved.Notice != "" {
		fmt.Fprintf(out, "%s\n", o.saved.Notice)
	}
	meta := o.saved.Metadata
	if meta["mean_return"] != "" {
		fmt.Fprintf(out, "when saved   mean return %s over %s %s\n", meanText(meta, ""), meta["episodes"],
			cmp.Or(meta["evaluated_on"], "episodes"))
	}
	if meta["sampled_mean_return"] != "" && meta["greedy_mean_return"] != "" {
		fmt.Fprintf(out, "             mean return %s with sampled actions, %s with greedy ones\n",
			meanText(meta, "sampled_"), meanText(meta, "greedy_"))
	}
	if meta["choice_mean_return"] != "" {
		fmt.Fprintf(out, "when chosen  mean return %s\n", meanText(meta, "choice_"))
	}
	with := ""
	if len(r.Params) > 0 {
		with = ", with " + strings.Join(r.Params, ", ")
	}
	if meta["actions"] != "" {
		with += ", " + r.Actions + " actions"
	}
	fmt.Fprintf(out, "played       %s of at most %s, seed %d%s\n", quantity.Count(r.Episodes, "new episode",
		"new episodes"), quantity.Count(r.Steps, "step", "steps"), r.Seed, with)
	if r.Failed > 0 {
		fmt.Fprintf(out, "failed       %s, whose return is no number; the figures leave them out\n",
			quantity.Count(r.Failed, "episode", "episodes"))
	}
	if r.Failed == r.Episodes {
		return
	}
	e := r.evaluation
	numbers := slices.DeleteFunc(slices.Clone(e.Return), math.IsNaN)
	if len(numbers) == 1 {
		fmt.Fprintf(out, "mean return  %s; one episode has no standard error\n", display.Fitness(e.Mean))
	} else {
		mean, spread := quantity.Mean(e.Mean, e.Error)
		fmt.Fprintf(out, "mean return  %s, standard error %s\n", mean, spread)
		fmt.Fprintf(out, "spread       %s standard deviation, from %s to %s\n", display.Fitness(e.Std),
			display.Fitness(slices.Min(numbers)), display.Fitness(slices.Max(numbers)))
	}
	fmt.Fprintf(out, "length       %s steps, mean; %d of %s all %d\n", display.Fitness(e.Length), e.Full,
		quantity.Count(r.Episodes, "episode has", "episodes have"), r.Steps)
	if r.Parity != nil {
		r.Parity.print(out, r.Episodes)
	}
}

// meanText returns a mean return of a member's metadata with its standard error and its failures, as EvalScore has it.
// The keys begin with prefix. Files of earlier versions have no failures.
func meanText(meta map[string]string, prefix string) string {
	mean, err := strconv.ParseFloat(meta[prefix+"mean_return"], 64)
	if err != nil {
		return meta[prefix+"mean_return"]
	}
	score := episode.EvalScore{Mean: mean, Error: math.NaN()}
	if x, err := strconv.ParseFloat(meta[prefix+"standard_error"], 64); err == nil {
		score.Error = x
	}
	score.Failed, _ = strconv.Atoi(meta[prefix+"failed_episodes"])
	score.Episodes, _ = strconv.Atoi(meta["episodes"])
	return score.String()
}
