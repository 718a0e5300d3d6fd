package command

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/studies/study"
)

// NaN and both infinities differ in both formats: JSON had null for all three. NaN is null, as in all JSON.
// Infinities have one spelling in both formats, also those of a parameter.
func TestExportOfNoNumbers(t *testing.T) {
	trial := &study.FrozenTrial{Number: 0, State: study.Complete, Values: []float64{math.Inf(-1), math.NaN()},
		Params: map[string]float64{"bound": 1}, Distributions: map[string]study.Distribution{
			"bound": {Kind: study.Categorical, Choices: []any{0., math.Inf(1)}}},
		Intermediate: []study.Reported{{Step: 1, Value: math.NaN()}, {Step: 2, Value: math.Inf(1)},
			{Step: 3, Value: .5}}}
	lines, err := trialsJSON([]*study.FrozenTrial{trial})
	require.NoError(t, err)
	require.Contains(t, string(lines), `"values":["-inf",null]`)
	require.Contains(t, string(lines), `"params":{"bound":"+inf"}`)
	require.Contains(t, string(lines), `"intermediate":[[1,null],[2,"+inf"],[3,0.5]]`)
	table, err := trialsCSV([]*study.FrozenTrial{trial})
	require.NoError(t, err)
	require.Equal(t, "0,COMPLETE,-inf,NaN,+inf,", strings.Split(string(table), "\n")[1])
}
