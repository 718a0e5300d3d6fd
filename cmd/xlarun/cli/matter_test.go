package cli

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// matterCase is a small experiment in which each setting has something to do.
type matterCase struct {
	kind   string
	rounds int
	values map[string]string
	parts  string // only settings that begin with one of these are tried; "": all
	long   bool   // the long form tries all settings
}

var matterCases = []matterCase{
	{"evolve", 3, map[string]string{"env": "Pendulum-v1", "pop": "8", "policy": "mlp:2", "steps": "4", "target": "0",
		"eval-every": "1", "eval-envs": "1", "normalize-observations": "true"}, "", false},
	{"evolve", 3, map[string]string{"env": "Pendulum-v1", "pop": "8", "policy": "linear", "steps": "4", "target": "0",
		"eval-every": "1", "eval-envs": "1", "strategy": "cmaes", "restarts": "ipop"}, "restart", true},
	{"islands", 3, map[string]string{"env": "Pendulum-v1", "pop": "6", "policy": "linear", "steps": "4", "target": "0",
		"eval-every": "1", "eval-envs": "5", "islands": "5", "migrate-every": "1", "migrants": "1",
		"explore-every": "1", "strategy.sigma": "0.05..0.5"}, "", false},
	{"ppo", 3, map[string]string{"env": "Pendulum-v1", "policy": "mlp:3", "envs": "2", "horizon": "8", "epochs": "2",
		"minibatches": "2", "target": "0", "steps": "200", "eval-envs": "2",
		"learning-rate": "0.1", "max-grad-norm": "0.01"}, "", false},
	{"pqn", 3, map[string]string{"env": "CartPole-v1", "policy": "mlp:3", "envs": "2", "horizon": "8", "epochs": "2",
		"minibatches": "2", "target": "0", "steps": "200", "eval-envs": "2",
		"learning-rate": "0.1", "max-grad-norm": "0.01"}, "", false},
	{"selfplay", 2, map[string]string{"vertices": "4", "k": "3", "network": "mlp:3", "num-iterations": "2",
		"num-episodes": "3", "num-simulations": "3", "game-batch-size": "2", "training-batch-size": "4", "epochs": "1",
		"replay": "1", "learning-rate": "0.1", "max-grad-norm": "0.01", "arena-every": "0", "considered": "2"},
		"", false},
	{"selfplay", 2, map[string]string{"vertices": "4", "k": "3", "network": "mlp:3", "num-iterations": "2",
		"num-episodes": "3", "num-simulations": "3", "game-batch-size": "2", "training-batch-size": "4", "epochs": "1",
		"learning-rate": "0.1", "arena-every": "1", "arena-games": "2", "pool": "1"}, "arena-,pool", true},
	{"selfplay", 2, map[string]string{"vertices": "4", "k": "3", "variant": "ramsey", "network": "mlp:3",
		"num-iterations": "2", "num-episodes": "3", "num-simulations": "4", "game-batch-size": "2",
		"training-batch-size": "4", "epochs": "1", "schedule": "linear"}, "rotation", true},
	{"selfplay", 1, map[string]string{"vertices": "4", "k": "3", "network": "mlp:3", "num-episodes": "3",
		"search": "puct", "num-simulations": "5", "arena-every": "0"}, "temperature,sampled-moves", false},
	{"qd", 3, map[string]string{"env": "Pendulum-v1", "descriptor": "observations", "descriptor.elements": "0,1",
		"descriptor.bounds": "-1,1,-1,1", "batch": "8", "policy": "linear", "steps": "4", "archive": "grid:4",
		"eval-every": "1", "eval-envs": "1", "target": "0"}, "", false},
	{"qd", 3, map[string]string{"env": "Pendulum-v1", "descriptor": "observations", "descriptor.elements": "0,1",
		"descriptor.bounds": "-1,1,-1,1", "batch": "8", "policy": "linear", "steps": "4", "archive": "grid:4",
		"eval-every": "1", "eval-envs": "1", "target": "0", "emitter": "searches", "emitter.searches": "2",
		"learning-rate": "0.5", "threshold-min": "-100"}, "", false},
}

// sparseCase is a matterCase with the pictures in the folder data.
func sparseCase(data string) matterCase {
	return matterCase{"sparse", 3, map[string]string{"data": data, "pop": "4", "updates": "8", "batch": "8",
		"hidden": "8,6", "density": "0.5", "mutate-every": "2", "mutate-fraction": "0.5", "shared": "0.4",
		"select": "0.5", "held-out": "20"}, "", false}
}

// withoutEffect are settings that need not change the course of those experiments, and why.
var withoutEffect = map[string]string{
	"backend":             "results do not depend on it, up to rounding",
	"plugin":              "the interpreter has none",
	"memory-fraction":     "is a GPU's",
	"preallocate":         "is a GPU's",
	"jit":                 "chooses the interpreter, which runs here anyway",
	"optimized-training":  "chooses the interpreter, which runs here anyway",
	"devices":             "results do not depend on their number",
	"memory":              "bounds the plan",
	"tune":                "chooses the plan",
	"tile":                "is the plan",
	"games-per-device":    "is the plan",
	"batch-last":          "is the plan",
	"unroll":              "is the plan",
	"episode-batch":       "is the plan",
	"vector-width":        "is the plan",
	"checkpoint-every":    "only says when the state is saved",
	"tensorboard-axis":    "only says what the axis of TensorBoard is",
	"keep":                "only says what stays on the disk",
	"for":                 "ends the run",
	"rounds":              "ends the run",
	"total-steps":         "ends the run",
	"use-true-mctx":       "a search in Go plays the same games",
	"generations":         "ends the run",
	"num-iterations":      "ends the run",
	"target":              "ends the run",
	"patience":            "ends the run",
	"min-improvement":     "is part of patience",
	"validation-target":   "ends the run",
	"validation-episodes": "is part of a validation",
	"validation-steps":    "is part of a validation",
	"validation-param":    "is part of a validation",
	"eval-episodes":       "members are judged by the session",
	"sample":              "episodes are written by the session",
	"island":              "names a run for others",
	"migration-dir":       "migrates through a folder",
	"join":                "results do not depend on the number of hosts",
	"wait":                "only says how long a run waits for a server",
	"alone-for":           "ends the run",
	"hosts":               "only says when the first generation begins",
	"chunks":              "results do not depend on how the work is cut",
	"token-file":          "is for the server of --join",
	"creds":               "is for the server of --join",
	"nkey":                "is for the server of --join",
	"tls-ca":              "is for the server of --join",
	"tls-cert":            "is for the server of --join",
	"tls-key":             "is for the server of --join",
	"data":                "is where the examples come from",
	"method":              "is the plan",
	"max-population":      "bounds restarts, of which there is none in so few generations",
	"policy.surrogate":    "only gradients use it",
	"policy.input":        "the other input is of a network of another size",
	"restarts":            "there is none in so few generations",
	"accumulate":          "changes last digits at most",
	"hall-of-fame":        "keeps members beside the search",
	"precision":           "the same dtype under another name",

	"policy.largest-weight of multispatial": "scales all outputs, of which Discrete actions take the largest",
}

// changed returns values to try instead of a setting's.
func changed(f settings.Field) (all []string) {
	text := f.Text()
	add := func(values ...string) {
		for _, v := range values {
			if v != text && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	add(f.OneOf()...)
	switch f.Type {
	case "bool":
		add("true", "false")
	case "int", "ints":
		n, err := strconv.ParseInt(strings.Split(text, ",")[0], 10, 64)
		if err == nil {
			add(fmt.Sprint(n/2), fmt.Sprint(n+1), fmt.Sprint(2*n), "3", "1", "0") // the cheaper ones first
		}
	case "number", "numbers", "text":
		x, err := strconv.ParseFloat(strings.Split(text, ",")[0], 64)
		if err == nil && !math.IsNaN(x) {
			add(fmt.Sprint(x/2), fmt.Sprint(2*x), fmt.Sprint(x+.1))
		}
		add("0.5", "0.001", "1", "1000", "sin", "max")
	}
	return all
}

// spikingFile writes a NIR file of a network for Pendulum.
func spikingFile(t *testing.T) string {
	t.Helper()
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 6, 8, nn.Weights(nn.Normal(3))),
		nn.NewLIF(random.New(2), 8, nn.Decay(.9)), nn.NewDense(random.New(3), 8, 1), nn.NewLI(1, nn.Decay(.9)))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "network.nir")
	require.NoError(t, g.WriteFile(path))
	return path
}

// course runs an experiment for some rounds on the interpreter, and returns a hash of the metrics and the state after
// each round. It ends with the first round that is not as in like, the course of another experiment.
func course(t *testing.T, k *task, rounds int, like []uint64) (hashes []uint64) {
	t.Helper()
	require.NoError(t, k.fetch(t.Context(), &App{Streams: Streams{Out: io.Discard}}))
	r, err := k.job.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err, k.text)
	defer func() { require.NoError(t, r.Close()) }()
	sum := fnv.New64a()
	for i := range rounds {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		for _, v := range m.Values {
			require.NoError(t, binary.Write(sum, binary.LittleEndian, v.Number))
		}
		s, err := r.Snapshot(t.Context())
		require.NoError(t, err)
		for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
			_, err := fmt.Fprintf(sum, "%s %v\n", name, s.Arrays[name].Shape())
			require.NoError(t, err)
			numbers, err := graph.Floats(s.Arrays[name])
			require.NoError(t, err)
			require.NoError(t, binary.Write(sum, binary.LittleEndian, numbers))
		}
		hashes = append(hashes, sum.Sum64())
		if m.Done || m.Stalled || like != nil && (i >= len(like) || hashes[i] != like[i]) {
			break
		}
	}
	return hashes
}

// A setting that is accepted does something: it changes the course of a small run, is refused, or stands among those of
// which the reason is known why it does not.
func TestEverySettingMatters(t *testing.T) {
	t.Parallel()
	cases := slices.Clone(matterCases)
	data := t.TempDir()
	halves(t, data)
	cases = append(cases, sparseCase(data))
	add := func(rounds int, part string, pairs ...string) {
		values := map[string]string{"env": "Pendulum-v1", "pop": "8", "policy": "mlp:4", "steps": "4", "target": "0",
			"eval-envs": "0"}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		cases = append(cases, matterCase{"evolve", rounds, values, part, false})
	}
	for _, name := range strategy.Names() {
		if name == "neat" {
			add(9, "strategy.", "strategy", name, "policy", "genome", "pop", "16", "steps", "2", "policy.nodes", "9",
				"policy.connections", "12", "policy.activations", "tanh,sin", "strategy.node-rate", "0.3",
				"strategy.stagnation", "2", "strategy.refocus", "4", "strategy.interspecies-rate", "0.5",
				"strategy.function-rate", "0.5", "strategy.target-species", "3",
				"strategy.compatibility-threshold", "1", "strategy.max-species", "4", "strategy.weight-limit", "2.1")
			continue
		}
		if name == "annealing" { // a worse member must come before chance decides
			add(9, "strategy.", "strategy", name, "strategy.temperature", "2")
			continue
		}
		if name == "eggroll" { // its noise is that of matrices
			add(3, "strategy.", "strategy", name)
			continue
		}
		add(3, "strategy.", "strategy", name, "env", "Rastrigin-v0", "env-param", "dimensions=5",
			"policy", "vector", "steps", "1")
	}
	add(3, "strategy.", "strategy", "pgpe", "strategy.optimizer", "clipup")
	for _, name := range policy.Names() {
		if !long.On() && slices.Contains([]string{"hyperneat", "multispatial", "nir"}, name) {
			continue // they are large, and most of their settings are those of genome and of spiking
		}
		switch name {
		case "cnn":
			add(2, "policy.", "policy", name, "env", "Gather-v1", "policy.hidden", "4", "policy.channels", "2")
		case "genome":
			add(4, "policy.", "policy", name, "strategy", "neat", "strategy.node-rate", "1", "strategy.connection-rate",
				"1", "policy.nodes", "6", "policy.connections", "7")
		case "hyperneat":
			add(4, "policy.", "policy", name, "strategy", "neat", "strategy.node-rate", "1", "strategy.connection-rate",
				"1", "policy.nodes", "8", "policy.connections", "10", "policy.hidden", "4")
		case "multispatial":
			add(4, "policy.", "policy", name, "env", "Forage-L0-v1", "strategy", "neat", "strategy.node-rate", "1",
				"strategy.connection-rate", "1", "policy.nodes", "10", "policy.connections", "16")
		case "nir":
			add(2, "policy.", "policy", "nir:"+spikingFile(t))
		case "program":
			add(2, "policy.", "policy", "program:"+programFile(t))
		case "spiking":
			add(2, "policy.", "policy", name, "policy.hidden", "4", "policy.substeps", "3")
		case "transformer":
			add(2, "policy.", "policy", name, "policy.size", "8,1", "policy.heads", "2", "policy.memory", "3")
		case "blockmlp":
			add(2, "policy.", "policy", name, "policy.masks", "shared", "policy.hidden", "8,8", "policy.block", "4")
		default:
			if slices.Contains(policy.GenomePolicies(), name) {
				add(4, "policy.", "policy", name, "strategy", "neat")
				continue
			}
			add(2, "policy.", "policy", name)
		}
	}
	for _, more := range [][]string{{"policy.dynamics", "mechanistic:adex:conductance"},
		{"policy.dynamics", "fast:cubalif"}, {"policy.dynamics", "fast:alif"}, {"policy.dynamics", "mechanistic:lif"},
		{"policy.dynamics", "mechanistic:izhikevich:shunt"}, {"policy.dynamics", "mechanistic:hh:current"},
		{"policy.plasticity", "rewarded"}, {"policy.plasticity", "stdp"}, {"policy.encoder", "population"},
		{"policy.encoder", "delta"}, {"policy.encoder", "latency"}} {
		if long.On() {
			add(2, "policy.", append(more, "policy", "spiking", "policy.hidden", "4", "policy.weight-scale", "60")...)
		}
	}
	for i, c := range cases {
		kind, ok := run.Lookup(c.kind)
		require.True(t, ok)
		name := fmt.Sprint(i, " ", c.kind)
		for _, key := range slices.Sorted(maps.Keys(c.values)) {
			if strings.HasPrefix(key, strings.TrimSuffix(c.parts, ".")) && c.parts != "" {
				name += " " + c.values[key]
			}
		}
		tried := func(setting string) bool {
			within := func(c matterCase) bool {
				return slices.ContainsFunc(strings.Split(c.parts, ","), func(part string) bool {
					return strings.HasPrefix(setting, part)
				})
			}
			if long.On() {
				return c.long || within(c)
			}
			return within(c) && (c.parts != "" || !slices.ContainsFunc(matterCases, func(other matterCase) bool {
				return other.kind == c.kind && other.parts != "" && within(other) // that one is smaller
			}))
		}
		t.Run(name, func(t *testing.T) {
			base, err := (&flagValues{values: c.values}).resolve(kind, "", nil)
			require.NoError(t, err)
			want := course(t, base, c.rounds, nil)
			if c.parts == "" || long.On() { // in the short form once a kind, not for each strategy and policy of evolve
				require.Equal(t, want, course(t, base, c.rounds, want), "the course repeats")
			}
			fields := base.all()
			for _, f := range settings.Fields(&base.session) {
				fields[f.Name] = f
			}
			seen := map[string]bool{}
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				f := fields[name]
				if !tried(name) || withoutEffect[name] != "" || withoutEffect[name+" of "+c.values["policy"]] != "" {
					continue
				}
				if f.Type == "pairs" || choices(base.Experiment)[name] != nil {
					continue // other environments, policies and strategies have tests of their own
				}
				candidates := changed(f)
				require.NotEmpty(t, candidates, "%s: no other value is known, add one", name)
				refused := 0
				for _, value := range candidates {
					values := maps.Clone(c.values)
					values[name] = value
					other, err := (&flagValues{values: values}).resolve(kind, "", nil)
					if err != nil {
						refused++
						continue
					}
					ofFile := strings.HasPrefix(c.values["policy"], "nir:") && (value == "auto" || value == "0")
					if ofFile && base.text == other.text { // it means what the file says, which is saved
						refused++
						continue
					}
					require.NotEqual(t, base.text, other.text, "%s %s is accepted and not saved", name, value)
					if !slices.Equal(course(t, other, c.rounds, want), want) {
						seen[name] = true
						break
					}
				}
				if !seen[name] && refused < len(candidates) {
					t.Errorf("--%s is accepted with %v instead of %s and changes nothing", name, candidates, f.Text())
				}
			}
			t.Logf("%d of %d settings change the run", len(seen), len(fields))
		})
	}
}
