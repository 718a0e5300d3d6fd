package episode

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// Exported members act as in NumPy: outputs and actions for 20 observations, with parameters as saved and as the policy
// prepares them. third_party/oracles/member_act.py wrote them.
func TestMembersActAsInNumPy(t *testing.T) {
	var vectors struct {
		Policies []string // that the Python package steps
		Members  []struct {
			File                           string
			Observations, Outputs, Actions oracles.Array
			Rewards                        *oracles.Array // where weights change by rewards
		}
	}
	require.NoError(t, oracles.Read("testdata/member_act.json", &vectors))
	require.Len(t, vectors.Members, 38)
	// With every activation that mlp takes.
	seen := map[string]bool{}
	defer func() {
		choice, ok := settings.Lookup(&policy.MLPSettings{}, "activation")
		require.True(t, ok)
		for _, name := range strings.Split(strings.TrimPrefix(choice.Wants, "one of "), ", ") {
			require.True(t, seen[name], "%s in %v", name, seen)
		}
		// Every policy that the Python package steps.
		require.NotEmpty(t, vectors.Policies)
		for _, name := range vectors.Policies {
			require.True(t, seen[name], "%s in %v", name, seen)
		}
	}()
	for _, v := range vectors.Members {
		t.Run(v.File, func(t *testing.T) {
			m, err := Load(filepath.Join("testdata", v.File))
			require.NoError(t, err)
			if m.Actions() != "" {
				require.NoError(t, m.SetActions(policy.Greedy))
			}
			spec, _, _ := strings.Cut(m.Metadata["policy"], ":")
			seen[m.Metadata["activation"]], seen[spec] = true, true
			observations := graph.Float32s(v.Observations.Float32s(), v.Observations.Shape...)
			require.Equal(t, append([]int{20}, m.Env.Spec().Observation.Shape().Dims...), observations.Dims())
			outputs, actions := v.Outputs.Floats(), v.Actions.Floats()
			type step struct{ Observation, Reward *graph.Array }
			traits := m.Policy.Traits()
			require.Equal(t, traits.Learn != nil, v.Rewards != nil)
			rewards := graph.Zeros(graph.ShapeOf(graph.Float32, 20))
			if traits.Learn != nil {
				rewards = graph.Float32s(v.Rewards.Float32s())
			}
			all := []any{m.Params}
			if traits.Prepared != nil {
				all = append(all, traits.Prepared.Prepare(m.Params))
			}
			for _, params := range all {
				_, acted := graph.Scan(func(carry any, now step) (any, *graph.Array) {
					carry, out := m.Policy.Act(params, carry, now.Observation, random.New(0))
					if traits.Learn != nil {
						carry = traits.Learn(carry, now.Reward)
					}
					return carry, out.Action
				}, m.Policy.Start(params), step{observations, rewards}) // one by one, each lazy carry is computed anew
				require.InDeltaSlice(t, outputs, floats(t, acted), 1e-4)
				require.InDeltaSlice(t, actions, floats(t, graph.VMap(m.Head.Action)(acted)), 1e-5)
			}
		})
	}
}

// A described and saved member is loaded unchanged.
func TestLoadIsWhatWasSaved(t *testing.T) {
	r := newRollout(t, "Acrobot-v1", "mlp:3", 70, 1)
	params, err := graph.Eval(r.Policy.Init(random.New(1)))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "member.safetensors")
	metadata := Describe("Acrobot-v1", "mlp:3", settings.Values{"activation": "elu"}, 70)
	metadata["member"] = "mean"
	require.NoError(t, safetensors.Save(path, params, metadata))
	m, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, metadata, m.Metadata)
	require.Equal(t, []any{70, 1, "Acrobot-v1"}, []any{m.Steps, m.Episodes, m.Env.Spec().ID})
	require.EqualValues(t, "elu", policy.NetworkOf(m.Policy).(*policy.MLP).Activation)
	got := graph.Leaves(m.Params)
	for i, leaf := range graph.Leaves(params) {
		require.Equal(t, floats(t, leaf), floats(t, got[i]))
	}
}

// A member that cannot act is refused with what is missing.
func TestRestoreRefuses(t *testing.T) {
	r := newRollout(t, "CartPole-v1", "linear", 10, 1)
	leaves, tree := graph.Flatten(r.Policy.Init(random.New(1)))
	arrays := map[string]*graph.Array{}
	for i, a := range leaves {
		arrays[safetensors.Name(tree.Path(i))] = a
	}
	whole := Describe("CartPole-v1", "linear", nil, 10)
	_, err := Restore(arrays, whole)
	require.NoError(t, err)
	for _, c := range []struct{ key, value, want string }{
		{"env", "", `its metadata has no "env"`},
		{"policy", "", `its metadata has no "policy"`},
		{"steps", "", `its metadata has no "steps"`},
		{"steps", "0", `its steps are "0", want a whole number from 1 on`},
		{"steps", "many", `its steps are "many"`},
		{"env", "CartPol-v1", "CartPol-v1"},
		{"env", "Pendulum-v1", `the file has no array "Layers.0.W" of f32[3,1]`},
		{"policy", "mlp:3", `the file has no array "Layers.0.W" of f32[4,3]`},
		{"policy", "lstm", "lstm"},
		{"policy_settings", `{"activation": 3}`, "activation"},
		{"policy_settings", "{", "are no JSON"},
	} {
		metadata := maps.Clone(whole)
		metadata[c.key] = c.value
		_, err := Restore(arrays, metadata)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = Restore(nil, whole)
	require.ErrorContains(t, err, "the file has no array")
}

// The programs in docs/how-to/members.md are the tested ones.
func TestDocsShowWhatIsTested(t *testing.T) {
	docs, err := os.ReadFile("../../docs/how-to/members.md")
	require.NoError(t, err)
	for path, marker := range map[string]string{"example_test.go": "\t// docs/how-to/members.md: "} {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		blocks := strings.Split(string(source), marker+"begin\n")
		require.Greater(t, len(blocks), 1, path)
		for _, block := range blocks[1:] {
			block, _, ended := strings.Cut(block, marker+"end\n")
			require.True(t, ended, path)
			block = strings.TrimPrefix(strings.ReplaceAll("\n"+block, "\n\t", "\n"), "\n")
			require.Contains(t, string(docs), block, path)
		}
	}
}
