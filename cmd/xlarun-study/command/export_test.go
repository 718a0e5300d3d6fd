package command

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// NaN and both infinities differ in both formats: JSON had null for all three. 32.237: NaN is null, as in all JSON.
func TestExportOfNoNumbers(t *testing.T) {
	trial := &study.FrozenTrial{Number: 0, State: study.Complete, Values: []float64{math.Inf(-1)},
		Intermediate: []study.Reported{{Step: 1, Value: math.NaN()}, {Step: 2, Value: math.Inf(1)},
			{Step: 3, Value: .5}}}
	lines, err := trialsJSON([]*study.FrozenTrial{trial})
	require.NoError(t, err)
	require.Contains(t, string(lines), `"values":["-inf"]`)
	require.Contains(t, string(lines), `"intermediate":[[1,null],[2,"+inf"],[3,0.5]]`)
	table, err := trialsCSV([]*study.FrozenTrial{trial})
	require.NoError(t, err)
	require.Contains(t, strings.Split(string(table), "\n")[1], "-Inf")
}
