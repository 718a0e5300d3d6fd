package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"xlarun/cmd/internal/peers"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/quantity"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/topology"
)

// peerLimit is the time that JAX may take to compile its program.
const peerLimit = 20 * time.Minute

// peerProgram is a JAX program of third_party/peers that does the work of an experiment.
type peerProgram struct {
	script string
	args   []string
	what   string // what it does that differs
}

// gymnaxNames are environments that gymnax has with the same sizes.
var gymnaxNames = map[string]string{"CartPole-v1": "CartPole-v1", "Acrobot-v1": "Acrobot-v1",
	"MountainCar-v0": "MountainCar-v0", "Breakout-MinAtar-v1": "Breakout-MinAtar"}

// peerOf returns the JAX program for the work of an experiment. ok is false if there is none.
func peerOf(t *task) (p peerProgram, ok bool) {
	value := func(name string) string {
		f, found := settings.Lookup(t.Experiment, name)
		if !found {
			return ""
		}
		return f.Text()
	}
	env := value("env")
	network, sizes, _ := strings.Cut(value("policy"), ":")
	layers := strings.Split(sizes, ",")
	switch {
	case t.Name == "evolve" && env == "CartPole-v1" && network == "mlp" && len(layers) == 2 && layers[0] == layers[1] &&
		slices.Contains([]string{"openes", "cmaes"}, value("strategy")):
		args := []string{value("pop"), layers[0]}
		if value("strategy") == "cmaes" {
			args = append(args, "cmaes")
		}
		return peerProgram{"evosax_cartpole.py", args, "a generation of evosax on gymnax, of 500 steps"}, true
	case t.Name == "evolve" && env == "Breakout-MinAtar-v1" && network == "cnn" && len(layers) == 1:
		return peerProgram{"gymnax_breakout.py", []string{value("pop"), value("steps"), layers[0]},
			"the episodes of gymnax, without sampling and learning"}, true
	case t.Name == "ppo" && gymnaxNames[env] != "" && network == "mlp" && value("epochs") == "4" &&
		value("minibatches") == "4":
		return peerProgram{"gymnax_ppo.py", []string{gymnaxNames[env], value("steps"), value("envs"), value("horizon"),
			value("agents")}, "the whole training as PureJaxRL's users write it, not an update"}, true
	case t.Name == "selfplay" && slices.Contains([]string{"gumbel", "puct"}, value("search")):
		return peerProgram{"selfplay_jax.py", []string{"search", value("vertices"), value("k"),
			value("game-batch-size"),
			value("num-simulations"), value("search")}, "the search of one move of all games by mctx, without " +
			"learning"}, true
	}
	return p, false
}

// needsPeer returns the error of an experiment without a JAX program.
func needsPeer(t *task) error {
	return console.BadInput("--peers has no JAX program for this work of %s: there are some for evolve on "+
		"CartPole-v1 (openes and cmaes, mlp:H,H) and Breakout-MinAtar-v1 (cnn:C), for ppo on environments of gymnax "+
		"(mlp, --epochs 4 --minibatches 4), and for selfplay (gumbel and puct)", t.Name)
}

// peerInspection is what the JAX program for the same work became.
type peerInspection struct {
	Script      string             `json:"script"`
	Args        []string           `json:"args"`
	What        string             `json:"what"`
	Launches    int64              `json:"launches"`
	Compiler    map[string]float64 `json:"compiler,omitempty"`
	Arguments   int64              `json:"argument_bytes"`
	Temporaries int64              `json:"temporary_bytes"`
	Seconds     float64            `json:"compile_seconds"`
	Loops       []hlo.Loop         `json:"loops"`
}

// inspectPeer compiles the JAX program for the work of an experiment for a target.
func inspectPeer(ctx context.Context, a *App, t *task, on topology.Topology, python string) (*peerInspection, error) {
	p, ok := peerOf(t)
	if !ok {
		return nil, needsPeer(t)
	}
	py, err := peers.Open(ctx, a.Out, cmp.Or(python, a.Getenv(peers.EnvPython)), peers.AheadRequirements)
	if err != nil {
		return nil, err
	}
	defer py.Close()
	limited, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	programs, err := py.Ahead(limited, on, p.script, p.args...)
	if ctx.Err() != nil {
		return nil, console.ErrInterrupted
	}
	if err != nil {
		return nil, fmt.Errorf("the JAX program %s: %w", p.script, err)
	}
	first := programs[0]
	out := &peerInspection{Script: p.script, Args: p.args, What: p.what, Compiler: first.Cost, Seconds: first.Seconds,
		Arguments: first.Arguments, Temporaries: first.Temporaries, Loops: first.Loops}
	for _, l := range first.Loops {
		out.Launches += l.Launches
	}
	return out, nil
}

// countOf returns a number of the compiler as text.
func countOf(numbers map[string]float64, name string) string {
	if v, ok := numbers[name]; ok {
		return display.Count(v)
	}
	return "not given"
}

// printPeer prints both programs side by side, and the kernels of JAX's by loop.
func printPeer(out io.Writer, i inspection) error {
	p := i.Peer
	fmt.Fprintf(out, "\nbeside JAX's program %s %s: %s\n", p.Script, strings.Join(p.Args, " "), p.What)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "\txlarun\tJAX\n")
	fmt.Fprintf(w, "launches\t%d\t%d\n", i.Launches, p.Launches)
	if m := i.Memory; m != nil {
		fmt.Fprintf(w, "arguments\t%s\t%s\n", display.Bytes(m.Arguments), display.Bytes(p.Arguments))
		fmt.Fprintf(w, "temporaries\t%s\t%s\n", display.Bytes(m.Temporaries), display.Bytes(p.Temporaries))
	}
	for _, k := range compilerNumbers {
		fmt.Fprintf(w, "%s, a loop's body once\t%s\t%s\n", k, countOf(i.Compiler, k), countOf(p.Compiler, k))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nJAX's loops, %s in a run\n", quantity.Count(int(p.Launches), "launch", "launches"))
	return printKernels(out, p.Loops)
}
