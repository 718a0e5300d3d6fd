package play

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

const (
	minSide    = 64       // pixels
	randomName = "random" // of the policy that samples its actions
	policyKey  = 0x696e6974
)

// rendering holds the flags of `xlarun render`.
type rendering struct {
	saved *Saved // nil: a policy that is in no file
	console.BackendFlags
	member, policy, actions, out, png, size, spikes string
	params                                          []string
	seed                                            int64
	steps, frames                                   int
	json                                            bool
	pixels                                          image.Point
	title                                           string
}

// RenderCommand is `xlarun render`.
func RenderCommand(streams console.Streams, open console.Opener) *cobra.Command {
	o := rendering{policy: randomName, size: fmt.Sprintf("%dx%d", size.X, size.Y)}
	cmd := &cobra.Command{
		Use:   "render ENV|RUN|" + memberFile,
		Short: "Draw an episode of an environment, or of a saved member, as a GIF and as PNG frames",
		Long: "Render plays one episode and draws it, without a display: of a run the best member (--member final " +
			"for the last one), of an environment a policy that plays at random, or a network as it is before any " +
			"training (--policy mlp:16,16). The same seed gives the same pictures.",
		Example: "  xlarun render Forage-L1-v1 --seed 3\n  xlarun render runs/20260102-150405-CartPole-v1 --member " +
			"final --out champion.gif --png frames --size 640x400\n  xlarun render Forage-L0-v1 --policy " +
			"spiking:32,16 --spikes pictures",
		Args: console.OneArgument("an environment, the folder of a run, or a member's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := o.resolve(args[0], cmd.Flags().Changed)
			if err != nil {
				return err
			}
			b, err := open(cmd.Context(), o.BackendFlags, display.NewDownloadBar(streams.Out, streams.Getenv))
			if err != nil {
				return err
			}
			defer func() { _ = b.Close() }()
			return o.render(streams, b, m)
		},
	}
	f := cmd.Flags()
	addMember(cmd, &o.member)
	f.StringVar(&o.policy, "policy", o.policy, "of an environment: random, or a network as it is made, such as "+
		"mlp:16,16")
	addParams(f, &o.params)
	addActions(f, &o.actions)
	f.Int64Var(&o.seed, "seed", 0, "seed of the episode (default one more than the run's)")
	f.IntVar(&o.steps, "steps", 0, "steps at most (default as in the run, or as the environment has)")
	f.IntVar(&o.frames, "frames", 0, "frames at most; 0 for one a step")
	f.StringVar(&o.out, "out", "", "file of the GIF, none for no GIF (default render.gif in the run's folder, "+
		"NAME.gif of others)")
	f.StringVar(&o.png, "png", "", "folder for the frames as PNG files, named by their steps; one that is not there, "+
		"or empty")
	f.StringVar(&o.spikes, "spikes", "", "folder for pictures of a spiking policy in the episode: "+rasterName+", "+
		membraneName+" and "+weightsName)
	f.StringVar(&o.size, "size", o.size, "pixels of a frame, WIDTHxHEIGHT")
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
	o.AddBackend(f)
	return withGames(cmd, streams, open, true)
}

// resolve checks the flags and returns the member.
func (o *rendering) resolve(arg string, given func(flag string) bool) (*episode.Member, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Devices = 1
	load := o.untrainedMember
	if console.Exists(arg) {
		load = o.savedMember
	}
	m, err := load(arg, given)
	if err != nil {
		return nil, err
	}
	if envs.TraitsOf(m.Env).Draw == nil {
		return nil, console.BadInput("%s cannot be drawn: it has no Draw", m.Env.Spec().ID)
	}
	if err := setParams(m, o.params); err != nil {
		return nil, err
	}
	if err := setActions(m, o.actions, given("actions")); err != nil {
		return nil, err
	}
	if given("steps") {
		m.Steps = o.steps
	}
	if m.Steps < 1 || m.Steps > maxSteps {
		return nil, console.BadInput("--steps got %d, wants 1 to %d", m.Steps, maxSteps)
	}
	if o.frames < 0 {
		return nil, console.BadInput("--frames got %d, wants 1 or more, or 0 for one a step", o.frames)
	}
	if o.pixels, err = readSize(o.size); err != nil {
		return nil, err
	}
	if err := o.checkSpikes(m); err != nil {
		return nil, err
	}
	return m, o.checkTargets()
}

// untrainedMember returns a member with random actions, or with an untrained network, for an environment.
func (o *rendering) untrainedMember(id string, given func(flag string) bool) (*episode.Member, error) {
	Allow(id)
	if _, err := envs.Make(id); err != nil {
		return nil, console.BadInput("%s is no folder of a run, no file and no environment: %w", id, err)
	}
	if given("member") {
		return nil, console.BadInput("--member got %q, but %s is an environment: leave it out, or give a run", o.member,
			id)
	}
	env, params, err := readParams(id, o.params, nil)
	if err != nil {
		return nil, err
	}
	spec := env.Spec()
	m := &episode.Member{Rollout: &episode.Rollout{Env: env, Given: params, Steps: spec.MaxSteps, Episodes: 1}}
	if o.policy == randomName {
		if given("actions") {
			return nil, console.BadInput("--actions got %s, but the policy %s draws all actions alike: leave it out, "+
				"or give --policy", o.actions, randomName)
		}
		if m.Head, err = policy.HeadOf(spec.Action); err == nil {
			m.Policy = randomPolicy{spec.Action, m.Head.Size()}
		}
	} else {
		m.Policy, m.Head, err = policy.Make(o.policy, nil, spec.Observation, spec.Action)
	}
	if err != nil {
		return nil, console.BadInput("--policy %s: %w", o.policy, err)
	}
	if err := graph.Try(func() { m.Params = m.Policy.Init(random.FoldIn(random.New(o.seed), policyKey)) }); err != nil {
		return nil, err
	}
	if o.out == "" {
		o.out = strings.ReplaceAll(id, "/", "-") + ".gif"
	}
	o.title = fmt.Sprintf("%s, policy %s", id, o.policy)
	return m, nil
}

// savedMember returns the member of a run or a file.
func (o *rendering) savedMember(path string, given func(flag string) bool) (*episode.Member, error) {
	if given("policy") {
		return nil, console.BadInput("--policy got %q, but %s has a policy of its own: leave it out, or give an "+
			"environment", o.policy, path)
	}
	saved, err := Open(path, o.member)
	if err != nil {
		return nil, err
	}
	m, err := saved.Member()
	if err != nil {
		return nil, err
	}
	o.saved, o.policy = saved, saved.Metadata["policy"]
	if !given("seed") {
		o.seed = saved.freshSeed()
	}
	if o.out == "" {
		if o.out = saved.bare() + ".gif"; saved.Run != "" {
			o.out = filepath.Join(saved.Run, "render.gif")
		}
	}
	o.title = fmt.Sprintf("%s: %s for %s", saved, o.policy, m.Env.Spec().ID)
	return m, nil
}

// readSize reads WIDTHxHEIGHT.
func readSize(text string) (image.Point, error) {
	wide, high, ok := strings.Cut(text, "x")
	x, err := strconv.Atoi(wide)
	y, bad := strconv.Atoi(high)
	if !ok || err != nil || bad != nil || min(x, y) < minSide || max(x, y) > draw.MaxSide {
		return image.Point{}, console.BadInput("--size got %q, wants WIDTHxHEIGHT, each from %d to %d pixels", text,
			minSide, draw.MaxSide)
	}
	return image.Pt(x, y), nil
}

// checkTargets returns an error if a picture cannot be written.
func (o *rendering) checkTargets() error {
	if o.out == noPicture {
		o.out = ""
		if o.png == "" && o.spikes == "" {
			return console.BadInput("--out none draws no GIF, and there is no --png: give one of them")
		}
	}
	if o.out != "" {
		if err := checkGIF("--out", o.out); err != nil {
			return err
		}
	}
	if o.png == "" {
		return nil
	}
	entries, err := os.ReadDir(o.png)
	if err == nil && len(entries) > 0 {
		return console.BadInput("--png %s is a folder with something in it: give one that is empty, or not there",
			o.png)
	}
	if err != nil && !os.IsNotExist(err) {
		return console.BadInput("--png %s cannot be written (%w): give another folder", o.png, console.Cause(err))
	}
	return checkParent("--png", o.png)
}

// Rendered is the result that --json prints.
type Rendered struct {
	Env    string   `json:"env"`
	Policy string   `json:"policy"`
	Seed   int64    `json:"seed"`
	Steps  int      `json:"steps"`  // of the episode
	Return *float64 `json:"return"` // null if it is not finite
	Frames int      `json:"frames"`
	Gif    string   `json:"gif,omitempty"`
	Png    string   `json:"png,omitempty"`    // folder
	Spikes []string `json:"spikes,omitempty"` // files
}

// render plays an episode, draws it and reports the result.
func (o *rendering) render(streams console.Streams, b xlabridge.Backend, m *episode.Member) error {
	rec, err := Record(b, m.Rollout, m.Params, o.seed)
	if err != nil {
		return err
	}
	r := Rendered{Env: m.Env.Spec().ID, Policy: o.policy, Seed: o.seed, Steps: rec.Length,
		Return: run.Finite(rec.Return(rec.Length)), Gif: o.out, Png: o.png}
	digits := len(strconv.Itoa(rec.Length))
	f := film{size: o.pixels, frames: o.frames}
	if o.png != "" {
		if err := os.MkdirAll(o.png, 0o755); err != nil {
			return fmt.Errorf("the folder %s cannot be made (%w): --png DIR takes another", o.png, console.Cause(err))
		}
		f.each = func(step int, frame *image.RGBA) error {
			var data bytes.Buffer
			if err := png.Encode(&data, frame); err != nil {
				return err
			}
			return console.WriteFile(filepath.Join(o.png, fmt.Sprintf("%0*d.png", digits, step)), data.Bytes())
		}
	}
	data, err := f.draw(m.Env, rec, seedText(o.seed), o.out != "")
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := console.WriteFile(o.out, data); err != nil {
			return fmt.Errorf("the picture %s cannot be written (%w): --out FILE writes it elsewhere", o.out,
				console.Cause(err))
		}
	}
	if o.spikes != "" {
		if r.Spikes, err = o.drawSpikes(b, m); err != nil {
			return err
		}
	}
	r.Frames = len(shown(drawable(rec), o.frames))
	fmt.Fprintf(streams.Out, "%s\n", o.title)
	fmt.Fprintf(streams.Out, "played       %s, return %s, seed %d\n", quantity.Count(rec.Length, "step", "steps"),
		returnText(rec.Return(rec.Length)), o.seed)
	if o.out != "" {
		fmt.Fprintf(streams.Out, "picture      %s\n", o.out)
		if o.saved != nil {
			if err := o.saved.drawNetwork(streams, o.out); err != nil {
				return err
			}
		}
	}
	if o.png != "" {
		fmt.Fprintf(streams.Out, "frames       %d in %s\n", r.Frames, o.png)
	}
	if o.spikes != "" {
		fmt.Fprintf(streams.Out, "neurons      %s\n", strings.Join(r.Spikes, ", "))
	}
	if o.json {
		return streams.PrintJSON(r)
	}
	return nil
}

// randomPolicy samples actions from the uniform distribution over the action space.
type randomPolicy struct {
	action  envs.Space
	outputs int
}

func (randomPolicy) Traits() (t policy.Traits[any, any]) { return t }
func (randomPolicy) Init(random.Key) any                 { return graph.None{} }
func (randomPolicy) Start(any) any                       { return graph.None{} }
func (a randomPolicy) Act(_, _ any, _ *graph.Array, key random.Key) (any, policy.Output) {
	shape := graph.ShapeOf(graph.Float32, a.outputs)
	if _, ok := a.action.(envs.Discrete); ok {
		return graph.None{}, policy.Output{Action: random.Uniform(key, shape, 0, 1)}
	}
	const edge = 1 - 1e-6 // the head applies tanh
	return graph.None{}, policy.Output{Action: graph.Atanh(random.Uniform(key, shape, -edge, edge))}
}
