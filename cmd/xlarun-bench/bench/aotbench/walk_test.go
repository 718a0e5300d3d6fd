package aotbench

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	_ "xlarun/rollout/sparse"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/topology"
)

// walkTargets are one device and several of each compiler.
var walkTargets = []string{"h100", "h100x4", "v5e:2x2 one", "v5e:2x2"}

// needFiles are policies that are made of a file of the user.
var needFiles = []string{"nir", "program"}

// oneAgent are kinds that train an agent on one accelerator, and on several an agent on each.
var oneAgent = []string{"ppo", "pqn"}

// merged returns settings with further ones, which win.
func merged(given map[string]string, more ...string) map[string]string {
	given = maps.Clone(given)
	for i := 0; i < len(more); i += 2 {
		given[more[i]] = more[i+1]
	}
	return given
}

// walk lists every environment, strategy, policy and kind of run as a small program, and the kinds that take a
// precision in bfloat16, too.
func walk() (rows []Row) {
	add := func(name, kind string, given map[string]string) {
		rows = append(rows, Row{Name: name, Kind: kind, Settings: given})
	}
	small := map[string]string{"env": "CartPole-v1", "pop": "16", "steps": "4", "policy": "mlp:4"}
	for _, id := range envs.IDs() {
		given := merged(small, "env", id)
		env, err := envs.Make(id)
		if err != nil {
			panic(err)
		}
		spec := env.Spec()
		if spec.Players > 1 {
			continue // members play by themselves; selfplay has the games
		}
		if policy.IsImage(spec.Observation) {
			given["policy"] = "cnn:4"
		}
		given["steps"] = strconv.Itoa(min(4, spec.MaxSteps))
		add("environment "+id, "evolve", given)
	}
	for _, name := range strategy.Names() {
		given := merged(small, "strategy", name)
		if name == "neat" {
			given["policy"] = "genome"
		}
		add("strategy "+name, "evolve", given)
	}
	for _, name := range policy.Names() {
		switch {
		case slices.Contains(needFiles, name):
		case name == "cnn":
			add("policy cnn", "evolve", merged(small, "policy", name, "env", "Breakout-MinAtar-v1"))
		case name == "vector":
			add("policy vector", "qd", map[string]string{"env": "Rastrigin-v0", "policy": "vector:-5.12,5.12",
				"steps": "1"})
		case name == "multispatial": // it needs an environment with places
			add("policy multispatial", "evolve",
				merged(small, "policy", name, "strategy", "neat", "env", "Forage-L0-v1"))
		case slices.Contains(policy.GenomePolicies(), name):
			add("policy "+name, "evolve", merged(small, "policy", name, "strategy", "neat"))
		default:
			add("policy "+name, "evolve", merged(small, "policy", name))
		}
	}
	learner := map[string]string{"env": "CartPole-v1", "envs": "4", "horizon": "8"}
	images := merged(learner, "env", "Breakout-MinAtar-v1", "policy", "cnn:4")
	game := map[string]string{"vertices": "4", "k": "3", "num-simulations": "4", "num-episodes": "4",
		"game-batch-size": "4"}
	for _, d := range []string{"f32", "bf16"} {
		add("ppo "+d, "ppo", merged(learner, "precision", d))
		add("ppo images "+d, "ppo", merged(images, "precision", d))
		add("ppo gru "+d, "ppo", merged(learner, "policy", "gru:4", "precision", d))
		add("pqn "+d, "pqn", merged(learner, "precision", d))
		for _, search := range []string{"gumbel", "puct"} {
			add("selfplay "+search+" "+d, "selfplay", merged(game, "search", search, "precision", d))
		}
		for _, method := range []string{"auto", "masked"} {
			add("sparse "+method+" "+d, "sparse", map[string]string{"method": method, "dtype": d, "pop": "8"})
		}
	}
	for _, name := range []string{"tictactoe", "connectfour", "hex", "othello"} {
		add("selfplay "+name, "selfplay", map[string]string{"game": name, "num-simulations": "4", "num-episodes": "4",
			"game-batch-size": "4"})
	}
	add("qd", "qd", map[string]string{"env": "CartPole-v1", "steps": "4"})
	add("islands", "islands", map[string]string{"env": "CartPole-v1", "steps": "4", "pop": "32"})
	return rows
}

// Every environment, strategy, policy and kind of run compiles for a GPU and a TPU, on one device and on several.
// XLARUN_WALK chooses the rows whose names hold it.
func TestEveryProgramCompilesAhead(t *testing.T) {
	long.OnlyAll(t)
	var kinds []string
	for _, r := range walk() {
		kinds = append(kinds, r.Kind)
		for _, name := range walkTargets {
			t.Run(r.Name+" for "+name, func(t *testing.T) {
				if !strings.Contains(r.Name+" for "+name, os.Getenv("XLARUN_WALK")) {
					t.Skip("XLARUN_WALK chooses others")
				}
				label, one := strings.CutSuffix(name, " one")
				on, err := topology.Parse(label)
				require.NoError(t, err)
				devices := on.Devices
				if one {
					devices = 1
				}
				r := r
				r.Settings = merged(r.Settings, "devices", strconv.Itoa(devices))
				if devices > 1 && slices.Contains(oneAgent, r.Kind) {
					r.Settings["agents"] = strconv.Itoa(devices)
				}
				o := Options{Offline: os.Getenv("XLARUN_TOPOLOGIES") == "", Tune: "off"}
				got, err := Measure(t.Context(), r, on, o)
				if errors.Is(err, fetch.ErrNotInstalled) {
					t.Skip("the plugin is not installed: xlarun plugin install " + on.Backend)
				}
				require.NoError(t, err)
				require.Positive(t, got.Arguments)
			})
		}
	}
	for _, k := range run.Kinds() {
		require.Contains(t, kinds, k.Name, "each kind of run has a row")
	}
}
