package xlarun_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench"
	_ "xlarun/cmd/xlarun-study/command"
	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/qd"
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay/network"
	"xlarun/rollout/settings"
)

func init() { // as cmd/xlarun-bench does
	cli.Register(func(a *cli.App) []*cobra.Command {
		return []*cobra.Command{bench.Command(a.Streams, a.OpenBackend)}
	})
}

// described says in a few words what a registered choice is. Its settings are in the registry.
type described struct{ name, what, state string }

// strategies says what the registered strategies are. n is the number of parameters of a member.
var strategies = []described{
	{"openes", "OpenAI's evolution strategy with Adam (Salimans et al., 2017)", "3 n"},
	{"pgpe", "policy gradients with parameter-based exploration (Sehnke et al., 2010)", "4 n"},
	{"ars", "augmented random search with Adam (Mania et al., 2018)", "3 n"},
	{"eggroll", "OpenES with noise of low rank in each matrix (EGGROLL, arXiv 2511.16652)", "3 n; sgd: n"},
	{"snes", "separable natural evolution strategy (Wierstra et al., 2014)", "2 n"},
	{"xnes", "exponential natural evolution strategy with a full matrix (Glasmachers et al., 2010)", "n²"},
	{"cmaes", "CMA-ES with negative weights (Hansen, 2016)", "2 n²"},
	{"sepcmaes", "CMA-ES with a diagonal covariance (Ros and Hansen, 2008)", "4 n"},
	{"crfmnes", "fast moving natural evolution strategy: a diagonal and one long axis (Nomura and Ono, 2022)", "5 n"},
	{"de", "differential evolution, best/1/bin or rand/1/bin, without dithering (Storn and Price, 1997)", "n a member"},
	{"pso", "particle swarm optimization (Kennedy and Eberhart, 1995)", "3 n a member"},
	{"simplega", "genetic algorithm with one mutation rate", "n an elite"},
	{"samrga", "genetic algorithm whose mutation rates are inherited", "n an elite"},
	{"maes", "CMA-ES without a covariance (Beyer and Sendhoff, 2017)", "n²"},
	{"lmmaes", "the same with 4 + 3·log n vectors instead of a matrix (Loshchilov et al., 2019)", "(6 + 3·log n) n"},
	{"rmes", "noise along a few evolution paths (Li and Zhang, 2018)", "4 n"},
	{"svcmaes", "searches by CMA-ES that repel each other (Braun et al., 2024)", "2 n² a search"},
	{"iamalgam", "normal distribution of the better half, with anticipated shifts (Bosman et al., 2013)", "2 n²"},
	{"iamalgamu", "the same with a diagonal covariance", "4 n"},
	{"guidedes", "noise along the last gradients (Maheswaranathan et al., 2019)", "4 n"},
	{"asebo", "noise along the last gradients, as much as they tell (Choromanski et al., 2019)", "5 n"},
	{"nres", "OpenES whose noise stays for some generations (Li et al., 2023)", "n a pair"},
	{"pes", "OpenES whose gradients weigh the noise of some generations (Vicol et al., 2021)", "n a pair"},
	{"mr15ga", "genetic algorithm with the rule of the success of a fifth (Rechenberg, 1978)", "n a member"},
	{"gesmrga", "genetic algorithm whose groups inherit mutation rates (Kumar et al., 2022)", "n an elite"},
	{"diffusion", "denoising of the population by its fitness (Zhang et al., 2024)", "n a member"},
	{"hillclimbing", "noise around the best member so far", "n"},
	{"gradientless", "the same with noise of different lengths (Golovin et al., 2020)", "n"},
	{"annealing", "noise around a member, which a worse one may follow (Kirkpatrick et al., 1983)", "n"},
	{"neat", "networks that grow, in species (Stanley and Miikkulainen, 2002); for the policy `genome`: see " +
		"[genomes.md](../explanation/genomes.md)", "n a member"},
	{"randomsearch", "Gaussian noise around the start; the baseline", "2 n"},
}

var policies = []described{
	{"mlp", "perceptron with hidden layers of these sizes", ""},
	{"normedmlp", "perceptron with layer normalization before each activation", ""},
	{"linear", "one layer", ""},
	{"blockmlp", "perceptron with block-sparse layers between its hidden layers", ""},
	{"cnn", "convolutions with so many channels, then a perceptron; observations are [height, width, channels]", ""},
	{"gru", "gated recurrent unit, with the formulas of flax's GRUCell, then a linear layer", ""},
	{"lstm", "long short-term memory, with the formulas of flax's LSTMCell, then a linear layer", ""},
	{"mingru", "GRU whose gates do not read the carry (Feng et al., 2024), then a linear layer", ""},
	{"elman", "simple recurrent network (Elman, 1990; flax's SimpleCell), then a linear layer", ""},
	{"ctrnn", "continuous-time recurrent network with learned time constants (Beer, 1995)", ""},
	{"transformer", "causal transformer over the last steps, with rotary positions: of this width and so many " +
		"blocks", ""},
	{"genome", "lists of nodes and connections, which `--strategy neat` makes grow: see " +
		"[genomes.md](../explanation/genomes.md)", ""},
	{"hyperneat", "perceptron whose weights a genome draws (Stanley, D'Ambrosio and Gauci, 2009): see " +
		"[genomes.md](../explanation/genomes.md#hyperneat)", ""},
	{"multispatial", "linear policy whose weights a genome draws by the places that an environment gives (Pugh and " +
		"Stanley, 2013): see [genomes.md](../explanation/genomes.md#places)", ""},
	{"vector", "no network: its outputs are its parameters. It is for tasks of one step, where the action is the " +
		"solution", ""},
	{"nir", "network of a file in the Neuromorphic Intermediate Representation: see " +
		"[spiking.md](../explanation/spiking.md#nir-on-the-command-line)", ""},
	{"program", "network that JAX exported: see [jax.md](../how-to/jax.md#a-network-as-a-policy)", ""},
	{"spiking", "layers of spiking neurons: see [spiking.md](../explanation/spiking.md)", ""},
}

var valueHeads = []described{
	{"plain", "one output is the value; the loss is half the squared error, clipped as in PPO", ""},
	{"popart", "one output, normalized by running moments of the returns (van Hasselt et al., 2016)", ""},
	{"twohot", "a distribution over bins of the symmetric logarithm of returns (Hafner et al., 2023)", ""},
}

var auxiliaryLosses = []described{
	{"none", "no further term", ""},
	{"kl", "a penalty on the divergence from the policy of the rollout (Schulman et al., 2017, section 4)", ""},
}

var networks = []described{
	{"mlp", "perceptron with hidden layers of these sizes", ""},
	{"graph", "message passing between the edges of a graph; for games that color edges", ""},
	{"tower", "residual convolutions; for games with a board as picture", ""},
}

var archives = []described{
	{"grid", "equal parts of each number of the descriptor (Mouret and Clune, 2015)", ""},
	{"cvt", "cells of about equal size around centroids (Vassiliades, Chatzilygeroudis and Mouret, 2018)", ""},
	{"unstructured", "no cells: elites at least a distance apart, as QDax has them; for novelty search", ""},
	{"nsga2", "no cells: a population by several objectives, sorted by domination (Deb et al., 2002)", ""},
}

var emitters = []described{
	{"sbx", "a child of two elites by simulated binary crossover and polynomial mutation (Deb and Agrawal, 1995)", ""},
	{"isoline", "a child of two elites: noise, and a step along the line between them (Vassiliades and Mouret, 2018)",
		""},
	{"searches", "searches by the `--strategy` that begin again at elites: CMA-ME (Fontaine et al., 2020)", ""},
}

var descriptors = []described{
	{"env", "the environment's own", ""},
	{"observations", "means over an episode of some elements of the observations", ""},
}

// family is a section of the page of environments.
type family struct {
	title, what string
	ids         []string
}

var families = []family{
	{"Classic control",
		"The first five are as in Gymnasium, the swing-ups as in EvoJAX, two poles on a cart as in the papers of\n" +
			"neuroevolution (`go doc xlarun/envs/classic`).",
		[]string{"CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1",
			"CartPoleSwingUp-Easy-v1", "CartPoleSwingUp-Hard-v1", "DoublePole-v1", "DoublePoleVelocities-v1"}},
	{"MuJoCo", "Gymnasium's tasks with MuJoCo's dynamics (`go doc xlarun/envs/mujoco`). `engine` 3 is MuJoCo 3's.\n" +
		"`factors=1` adds `friction-factor`, `mass-factor`, `gear-factor` and `gravity-factor`, which multiply the\n" +
		"model's numbers. `omni=1` describes episodes by their last place. `main-body` is the body whose speed is\n" +
		"rewarded.",
		[]string{"HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5", "HumanoidStandup-v5",
			"Swimmer-v5", "Reacher-v5", "Pusher-v5", "InvertedPendulum-v5", "InvertedDoublePendulum-v5"}},
	{"MinAtar", "The games of MinAtar on 10 x 10 cells (`go doc xlarun/envs/minatar`).",
		[]string{"Asterix-MinAtar-v1", "Breakout-MinAtar-v1", "Freeway-MinAtar-v1", "Seaquest-MinAtar-v1",
			"SpaceInvaders-MinAtar-v1"}},
	{"bsuite", "Steering, exploration, memory and credit assignment (`go doc xlarun/envs/small`). gymnax's\n" +
		"MNISTBandit is `--env mnist:` (`go doc xlarun/envs/mnist`). It needs pictures, which\n" +
		"`xlarun sparse --updates 1 --out none` fetches.",
		[]string{"Catch-bsuite-v1", "DeepSea-bsuite-v1", "MemoryChain-bsuite-v1", "UmbrellaChain-bsuite-v1",
			"DiscountingChain-bsuite-v1", "SimpleBandit-bsuite-v1"}},
	{"Small tasks", "Those in misc are as in gymnax. TMaze asks for memory: remember a sign until the junction.\n" +
		"Lander has an action of two choices. XOR and XOR3d ask for the parity of each pattern of two or three bits.",
		[]string{"FourRooms-misc-v1", "BernoulliBandit-misc-v1", "Reacher-misc-v1", "Swimmer-misc-v1",
			"GaussianBandit-misc-v1", "MetaMaze-misc-v1", "PointRobot-misc-v1", "FrozenLake-misc-v1", "Pong-misc-v1",
			"TMaze-v1", "Lander-v1", "XOR-v0", "XOR3d-v0"}},
	{"Foraging", ticks(forageText), []string{"Forage-L0-v1", "Forage-L1-v1", "Forage-L2-v1", "Gather-v1"}},
	{"Tasks of one step", "The action is the solution, for the policy `vector` ([qd.md](../explanation/qd.md), " +
		"`go doc xlarun/envs/tasks`).", []string{"Arm-v0", "Rastrigin-v0", "MultiRastrigin-v0", "ZDT1-v0"}},
	{"Games", "Games of two players for tree search, and Ramsey colorings, a puzzle for one. Tic-tac-toe, Connect\n" +
		"Four, Hex and Othello equal pgx 2.6.0's, move by move. See [self-play.md](../explanation/self-play.md).",
		[]string{"TicTacToe-v1", "ConnectFour-v1", "Hex-v1", "Othello-v1", "Clique-6-3-v1", "Clique-14-4-v1",
			"Clique-avoid-6-3-v1", "Ramsey-5-3-v1"}},
}

const forageText = `Each level asks for one ability more (´go doc xlarun/envs/levels´). Mean returns of complete
episodes:

| level | asks for | random | by hand, no memory | evolved, no memory | by hand, memory | evolved, memory |
| --- | --- | --- | --- | --- | --- | --- |
| L0 | a reflex: food on 8 x 8 cells, seen 5 x 5 | 10 | 58 | 47 (mlp:16,16) | | |
| L1 | discrimination: walls, food, poison, energy on 16 x 16 cells | 0 | 31 | 56 (mlp:32,32) | | |
| L2 | memory: good berries are shown once, and change; predators | -4 | 1 | -1 (mlp:32,32) | 67 | -0.8 (gru:16) |
| L2 with reminders while it evolves, played without | the same | | | | | 42 (gru:16) |
| L2 by ppo | the same | | | | | 42 (gru:32) |

PPO with a recurrent network solves L2 as it is ([forage-l2-ppo.toml](../../examples/forage-l2-ppo.toml)). Evolved on
it, a network does not learn to remember. The 42 comes from a run with ´--env-param reminder=0..0.2´: it shows the cue
again in up to a fifth of the steps. The run ends when the level itself, its validation, is solved
([forage-l2.toml](../../examples/forage-l2.toml); [what was tried](../notes/forage.md)).

Gather has food between walls on 16 x 16 cells, seen 7 x 7. Its parameters add hazards, decoys, and a reward that is
paid instead of the true one. ´--env-param width=32 --env-param height=32 --env-param view=9´ is a larger grid with a
larger view, up to 256 x 256 and 31 x 31; [notes/grid.md](../notes/grid.md) has what a step takes.`

// ticks replaces ´ by backquotes, which a raw string cannot hold.
func ticks(text string) string { return strings.ReplaceAll(text, "´", "`") }

const generated = "\n<!-- Written by `go test . -run Reference -update` from the registries. -->\n"

// inputNote explains the mark of settings that are inputs of the program.
const inputNote = "A setting with † is an input of the compiled program: another value compiles nothing.\n"

// referencePages write the pages of docs/reference that come from the registries.
var referencePages = map[string]func(t *testing.T) string{
	"docs/reference/commands.md":     commandsPage,
	"docs/reference/environments.md": environmentsPage,
	"docs/reference/packages.md":     packagesPage,
	"docs/reference/policies.md":     policiesPage,
	"docs/reference/qd.md":           qdPage,
	"docs/reference/strategies.md":   strategiesPage,
	"python/xlarun/runs.py":          pythonPage,
}

// TestReference compares pages of docs/reference with the registries: `go test . -run Reference -update` writes them.
func TestReference(t *testing.T) {
	for _, file := range slices.Sorted(maps.Keys(referencePages)) {
		page := referencePages[file](t)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		want, have := strings.Split(page, "\n"), strings.Split(string(got), "\n")
		for i := range min(len(want), len(have)) { // a page is long, so its first other line is shown
			require.Equal(t, want[i], have[i], "line %d of %s: run `go test . -run Reference -update`", i+1, file)
		}
		require.Len(t, have, len(want), "%s: run `go test . -run Reference -update`", file)
	}
}

// publicPackages are those whose signatures the reference lists, with types whose methods it lists too.
var publicPackages = []struct{ folder, what, withMethods string }{
	{"graph", "arrays, tracing and transforms", "Array"},
	{"graph/linalg", "matrices, as in jax.numpy.linalg and jax.scipy.linalg", ""},
	{"graph/fft", "Fourier transforms, as in jax.numpy.fft", ""},
	{"graph/special", "special functions, as in jax.scipy.special", ""},
	{"graph/stats", "histograms, covariances, quantiles, reductions without NaN", ""},
	{"graph/signal", "samples of functions: convolutions, interpolation, polynomials", ""},
	{"graph/random", "keys and draws, as in jax.random", ""},
	{"graph/nn", "layers without a batch axis", ""},
	{"graph/optim", "optimizers, as in Optax", ""},
	{"xlabridge", "clients, compiling and running", "Client"},
	{"envs", "environments and their registry", ""},
	{"rollout/policy", "networks that act, and their registry", ""},
	{"rollout/evolve/strategy", "strategies and their registry", ""},
	{"rollout/run", "the contract of an algorithm", ""},
}

func packagesPage(t *testing.T) string {
	doc := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"doc"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	var b strings.Builder
	b.WriteString("# Packages\n" + generated + `
Signatures of the public packages, from ` + "`go doc -short`" + `. ` + "`go doc xlarun/graph.VMap`" + ` prints the
comment of a symbol. A name with "..." has more in its group.
`)
	for _, p := range publicPackages {
		fmt.Fprintf(&b, "\n## xlarun/%s\n\nPackage %s: %s.\n\n```go\n%s", p.folder, path.Base(p.folder), p.what,
			doc("-short", "./"+p.folder))
		if p.withMethods != "" {
			b.WriteString("\n// Methods of " + p.withMethods + "\n")
			for line := range strings.Lines(doc("./" + p.folder + "." + p.withMethods)) {
				if strings.HasPrefix(line, "func (") {
					b.WriteString(line)
				}
			}
		}
		b.WriteString("```\n")
	}
	return b.String()
}

func strategiesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Strategies\n" + generated + ticks(`
´xlarun evolve ENV --strategy NAME´ and ´xlarun islands´ search with one of these. Settings are flags:
´--strategy.sigma 0.2´. Formulas and defaults are those of evosax 0.3.2, with five differences:

- ´pgpe´ uses Adam by default.
- ´xnes´ has a full matrix, by the matrix exponential. evosax's stays diagonal.
- ´cmaes´ renews its eigenvectors when a tenth of the covariance has changed. evosax renews them in each generation.
- The state of those with "stays" stays as it is where all members are equal, as at the start of MountainCar, or all
  fail. evosax's follow the order of equal members.
- ´eggroll´ is not in evosax.

evosax minimizes, xlarun maximizes. [bbob.md](bbob.md) compares both on 24 functions and names what is left out.

n is the number of parameters of a member. "Even" populations consist of antithetic pairs. Genomes are vectors of
float32, or trees: the policy's own arrays, of any dtype. ´eggroll´ never forms a member's matrices: a layer is one
product for all members of a tile, plus what each member's factors add.

| name | what it is | state | members | genomes | equal members |
| --- | --- | --- | --- | --- | --- |
`))
	for _, d := range strategies {
		s, err := strategy.Make(d.name, nil)
		require.NoError(t, err)
		members := []string{"any", "even"}[s.GroupSize-1]
		if s.LeastPopulation > 0 {
			members = fmt.Sprintf("%d or more", s.LeastPopulation)
		}
		genomes := "trees"
		if s.Flat {
			genomes = "vectors"
		}
		equal := ""
		if s.Steady {
			equal = "stays"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s | %s |\n", d.name, d.name, d.what, d.state, members, genomes,
			equal)
	}
	b.WriteString("\n" + inputNote)
	choicesSection(t, &b, "##", strategy.Part(), strategies)
	return b.String()
}

func policiesPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Policies, value heads and networks\n" + generated + "\n" + inputNote)
	for _, s := range []struct {
		title, text string
		part        settings.Part
		all         []described
	}{
		{"Policies", "`--policy NAME` chooses the network of a member or agent. The setting marked : may follow a\n" +
			"colon: `--policy mlp:64,64`. The others are flags: `--policy.activation relu`.", policy.Part(), policies},
		{"Value heads", "`xlarun ppo --value NAME` chooses how a value is read from the critic's outputs.",
			value.Part(), valueHeads},
		{"Auxiliary losses", "`xlarun ppo --auxiliary NAME` adds a term to the loss. Its mean is the metric\n" +
			"`auxiliary_loss`.", auxiliary.Part(), auxiliaryLosses},
		{"Networks of self-play", "`xlarun selfplay --network NAME` chooses the network with the policy and the value.",
			network.Part(), networks},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| name | what it is |\n| --- | --- |\n", s.title, s.text)
		for _, d := range s.all {
			fmt.Fprintf(&b, "| %s | %s |\n", d.name, d.what)
		}
		choicesSection(t, &b, "###", s.part, s.all)
	}
	return b.String()
}

func qdPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Archives, emitters and descriptors\n" + generated + ticks(`
´xlarun qd ENV´ chooses one of each. [qd.md](../explanation/qd.md) explains them. The setting marked : may
follow a colon: ´--archive grid:20,50´. The others are flags: ´--emitter.line-sigma 0.1´.

`) + inputNote)
	c := qd.DefaultConfig()
	for _, p := range c.Parts() {
		all, ok := map[string][]described{"archive": archives, "emitter": emitters, "descriptor": descriptors}[p.Name]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "\n## --%s\n\n| name | what it is |\n| --- | --- |\n", p.Name)
		for _, d := range all {
			fmt.Fprintf(&b, "| %s | %s |\n", d.name, d.what)
		}
		choicesSection(t, &b, "###", p, all)
	}
	return b.String()
}

// choicesSection writes a table of settings for each choice of a part. All that are registered must be described.
func choicesSection(t *testing.T, b *strings.Builder, level string, p settings.Part, all []described) {
	var names []string
	for _, d := range all {
		names = append(names, d.name)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(p.Choices)), names, "describe what is registered as %s", p.Name)
	var none []string
	for _, d := range all {
		fields := settings.Fields(p.Choices[d.name])
		if len(fields) == 0 {
			none = append(none, "`"+d.name+"`")
			continue
		}
		fmt.Fprintf(b, "\n%s %s\n\n| setting | default | takes | what it is |\n| --- | --- | --- | --- |\n", level,
			d.name)
		for _, f := range fields {
			name := "`" + f.Name + "`"
			if f.IsArgument() {
				name += " :"
			}
			settingRow(b, name, f)
		}
	}
	if len(none) > 0 {
		fmt.Fprintf(b, "\nWithout settings: %s.\n", strings.Join(none, ", "))
	}
}

func settingRow(b *strings.Builder, name string, f settings.Field) {
	if f.Traced {
		name += " †"
	}
	takes := strings.ReplaceAll(f.Wants, " that a float32 holds", "")
	if strings.Contains(f.Help, "; 0 for ") {
		takes, _, _ = strings.Cut(takes, ", 0 for ")
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, cell(f.Default), cell(takes), cell(f.Help))
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;", "*", "\\*").Replace(text)
}

func environmentsPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Environments\n" + generated + ticks(`
All environments except tasks of one step can be drawn: ´xlarun render ID´.
Those of classic control, MinAtar, bsuite and the small tasks equal
gymnax 1.0.1 state by state, in 2,000 transitions each with the same keys. The swing-ups, TMaze and Lander are not in
gymnax.
´go doc xlarun/envs/classic CartPole´ explains the observations, actions and rewards of one.

´--env-param NAME=VALUE´ sets a parameter. A range ´LOW..HIGH´ gives each episode its own number. Parameters are inputs
of the compiled program, so another value compiles nothing. Sizes are the exception: Gather's ´view´, and its
´height´ or ´width´ above 16, and those of MuJoCo's tasks from ´engine´ on, make another program. "Steps" is the limit
of an episode. "Solved at" is a mean return.
`))
	var ids []string
	for _, f := range families {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| environment | observation | action | steps | solved at |\n"+
			"| --- | --- | --- | --- | --- |\n", f.title, f.what)
		ids = append(ids, f.ids...)
		var params strings.Builder
		for _, id := range f.ids {
			e, err := envs.Make(id)
			require.NoError(t, err)
			s := e.Spec()
			solved := ""
			if s.RewardThreshold != 0 && !math.IsNaN(s.RewardThreshold) {
				solved = fmt.Sprintf("%g", s.RewardThreshold)
			}
			fmt.Fprintf(&b, "| %s | %v | %v | %d | %s |\n", id, s.Observation.Shape(), s.Action,
				s.MaxSteps, solved)
			all, err := episode.Params(e)
			require.NoError(t, err)
			for i, p := range all {
				if i > 0 {
					id = ""
				}
				fmt.Fprintf(&params, "| %s | `%s` | %s | %s |\n", id, p.Name, p.Default, p.Wants)
			}
		}
		if params.Len() > 0 {
			b.WriteString("\n| environment | parameter | default | takes |\n| --- | --- | --- | --- |\n" +
				params.String())
		}
	}
	require.ElementsMatch(t, envs.IDs(), ids, "each environment belongs to one family of this page")
	return b.String() + measuresOf(t, ids)
}

// measuresOf returns the section of what environments measure beside the return.
func measuresOf(t *testing.T, ids []string) string {
	var b strings.Builder
	b.WriteString(ticks(`
## Descriptors and objectives

´xlarun qd´ puts members into an archive by the descriptor of their behavior, whose numbers lie within bounds, or by
several objectives ([qd.md](../explanation/qd.md)). An environment that is not listed has neither.
´--descriptor observations´ describes members in any environment whose observation is a Box. ´--objectives´ names some
of the objectives. ´return´, the mean return, is one of them in every environment.

| environment | descriptor | objectives |
| --- | --- | --- |
`))
	for _, id := range ids {
		e, err := envs.Make(id)
		require.NoError(t, err)
		s := e.Spec()
		if len(s.Descriptor.Dims) > 0 || len(s.Objectives) > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", id, strings.Join(s.DescriptorTexts(), ", "),
				strings.Join(s.Objectives, ", "))
		}
	}
	return b.String()
}

func commandsPage(t *testing.T) string {
	root := cli.Root()
	var b strings.Builder
	b.WriteString("# Commands\n" + generated + ticks(`
Three programs share one command line; ´xlarun´ hands the commands of the other two over. The flags of runs and of
´study run´ are also keys of their config files, without the dashes. ´xlarun COMMAND --help´ shows the flags in the
terminal, for runs only those that are needed often; ´xlarun help COMMAND --all´ shows all.

| command | program | what it does |
| --- | --- | --- |
`))
	var commands []*cobra.Command
	var walk func(c *cobra.Command, program string)
	walk = func(c *cobra.Command, program string) {
		for _, below := range c.Commands() {
			if below.Hidden {
				continue
			}
			of := program
			if c == root {
				of = cli.ProgramOf(below.Name())
			}
			if !below.HasAvailableSubCommands() || len(ownFlags(below)) > 0 || below.Name() == "completion" {
				commands = append(commands, below)
				fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", below.CommandPath(), anchor(below), of, cell(below.Short))
			}
			if below.Name() != "completion" {
				walk(below, of)
			}
		}
	}
	walk(root, "")
	shared := sharedFlags(t, root)
	b.WriteString("\n## Flags of every kind of run\n\n" + inputNote + flagsHead)
	flagRows(&b, shared, settingsOf("evolve"))
	for _, c := range commands {
		flags, kind := ownFlags(c), ""
		fmt.Fprintf(&b, "\n## %s\n\n`%s`\n\n%s.\n", c.CommandPath(), c.UseLine(), strings.TrimSuffix(c.Short, "."))
		if _, isRun := run.Lookup(c.Name()); isRun && c.Parent() == root {
			b.WriteString("It also has the [flags of every kind of run](#flags-of-every-kind-of-run).\n")
			flags, kind = without(flags, shared), c.Name()
		}
		for _, other := range []*cobra.Command{c.Parent(), child(root, "evolve"), child(child(root, "study"), "run")} {
			own := without(flags, ownFlags(other))
			common := without(flags, own)
			if other != c && len(common) > 30 {
				flags = own
				b.WriteString("It also has the flags of the kind of run that its argument names.\n")
			} else if other != c && len(common) > 3 {
				flags = own
				fmt.Fprintf(&b, "It also has flags of [%s](#%s):\n%s.\n", other.CommandPath(), anchor(other),
					strings.Join(console.Fill(names(common), 119), "\n"))
			}
		}
		if len(flags) > 0 {
			b.WriteString(flagsHead)
			flagRows(&b, flags, settingsOf(kind))
		}
	}
	return b.String()
}

const flagsHead = "\n| flag | default | takes | what it is |\n| --- | --- | --- | --- |\n"

// ownFlags returns the flags that the help of a command describes, without those of parts.
func ownFlags(c *cobra.Command) (all []*pflag.Flag) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && f.Annotations["part"] == nil {
			all = append(all, f)
		}
	})
	return all
}

func child(root *cobra.Command, name string) *cobra.Command {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	return root.Commands()[i]
}

// sharedFlags returns the flags that the commands of all kinds of run have, with the same help and default.
func sharedFlags(t *testing.T, root *cobra.Command) []*pflag.Flag {
	shared := ownFlags(child(root, "evolve"))
	for _, k := range run.Kinds() {
		shared = without(shared, without(shared, ownFlags(child(root, k.Name))))
	}
	require.Greater(t, len(shared), 5)
	return shared
}

// without returns the flags that are not among others, by name, default and help.
func without(flags, others []*pflag.Flag) (left []*pflag.Flag) {
	for _, f := range flags {
		if !slices.ContainsFunc(others, func(o *pflag.Flag) bool {
			return f.Name == o.Name && (f.Usage == o.Usage && f.DefValue == o.DefValue || f.Name == "out")
		}) {
			left = append(left, f)
		}
	}
	return left
}

// names lists flags, with commas between them.
func names(flags []*pflag.Flag) (all []string) {
	for i, f := range flags {
		name := "`--" + f.Name + "`"
		if i < len(flags)-1 {
			name += ","
		}
		all = append(all, name)
	}
	return all
}

// anchor is the anchor of a command's heading.
func anchor(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// settingsOf returns the settings of a kind of run by name; none if there is no such kind.
func settingsOf(kind string) map[string]settings.Field {
	all := map[string]settings.Field{}
	if k, ok := run.Lookup(kind); ok {
		for _, f := range settings.Fields(k.New()) {
			all[f.Name] = f
		}
	}
	return all
}

func flagRows(b *strings.Builder, flags []*pflag.Flag, known map[string]settings.Field) {
	for _, f := range flags {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name += ", `-" + f.Shorthand + "`"
		}
		if s, ok := known[f.Name]; ok {
			settingRow(b, name, s)
			continue
		}
		value, help := strings.Trim(f.DefValue, "[]"), f.Usage
		if m := defaultInHelp.FindStringSubmatch(help); value == "" && m != nil {
			value, help = m[2], m[1]
		}
		if f.Name == "jobs" {
			value = "the cores"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, cell(value), cmp.Or(takes[f.Value.Type()], f.Value.Type()),
			cell(help))
	}
}

var defaultInHelp = regexp.MustCompile(`(?s)^(.*) \(default "?([^()]*?)"?\)$`)

// takes says what values a flag takes, by its type.
var takes = map[string]string{"bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"float64": "a number", "number": "a number", "string": "a text", "text": "a text", "duration": "a time such as 10m",
	"intSlice": "whole numbers between commas", "stringArray": "a text, repeatable",
	"stringSlice": "texts between commas",
	"bytes":       "a number of bytes such as 2G",
	"pairs":       "NAME=VALUE, repeatable"}
