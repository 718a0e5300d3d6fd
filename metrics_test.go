package xlarun_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every metric of the recorded runs is on the page of metrics.
func TestMetricsAreListed(t *testing.T) {
	page, err := os.ReadFile("docs/reference/metrics.md")
	require.NoError(t, err)
	text, err := os.ReadFile("cmd/xlarun/testdata/golden.json")
	require.NoError(t, err)
	var golden struct {
		Metrics map[string][]string `json:"metrics"`
	}
	require.NoError(t, json.Unmarshal(text, &golden))
	require.Greater(t, len(golden.Metrics), 5)
	island := regexp.MustCompile(`^mean_\d+$`)
	for run, rows := range golden.Metrics {
		for _, row := range rows {
			var values map[string]any
			require.NoError(t, json.Unmarshal([]byte(row), &values))
			for name := range values {
				if island.MatchString(name) {
					name = "mean_0"
				}
				require.Contains(t, string(page), "`"+name+"`", run)
			}
		}
	}
}
