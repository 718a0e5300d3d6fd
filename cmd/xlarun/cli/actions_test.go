package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/safetensors"
)

// A run of ppo evaluates its members with drawn and with most probable actions. Its result, profile.json and the
// member's file have both numbers and the better way, in which play plays the member.
func TestBothWaysAreEvaluated(t *testing.T) {
	t.Chdir(t.TempDir())
	r := onCPU.Result(t, "ppo", "Pendulum-v1", "--backend", "reference", "--policy", "mlp:3", "--envs", "4",
		"--horizon", "4", "--epochs", "1", "--minibatches", "1", "--steps", "32", "--env-param", "max-steps=5",
		"--eval-episodes", "3", "--out", "run")
	sampled, greedy := r["best_member_sampled_mean_return"].(float64), r["best_member_greedy_mean_return"].(float64)
	require.NotEqual(t, sampled, greedy)
	way := r["best_member_actions"].(string)
	require.Equal(t, map[string]float64{"sampled": sampled, "greedy": greedy}[way], r["best_member_mean_return"])
	require.Equal(t, false, r["solved"])

	var profile map[string]any
	require.NoError(t, json.Unmarshal([]byte(read(t, "run", "profile.json")), &profile))
	file, err := safetensors.Open("run/best.safetensors")
	require.NoError(t, err)
	defer file.Close()
	require.Contains(t, file.Names(), "Distribution.Log")
	require.Equal(t, way, file.Metadata()["actions"])
	require.Equal(t, way, profile["best_member_actions"])
	for _, name := range []string{"sampled_mean_return", "greedy_mean_return"} {
		require.Equal(t, r["best_member_"+name], profile["best_member_"+name])
		require.Equal(t, number2text(r["best_member_"+name]), file.Metadata()[name])
	}
	played := onCPU.Result(t, "play", "run", "--backend", "reference", "--episodes", "2", "--gif", "none")
	require.Equal(t, way, played["actions"])
}
