package runfolder

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// field returns the first field of a number in a message, as bytes or as the 8 bytes of a number.
func field(t *testing.T, m []byte, want protowire.Number) []byte {
	t.Helper()
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		require.Positive(t, n)
		size := protowire.ConsumeFieldValue(number, kind, m[n:])
		require.Positive(t, size)
		if value := m[n : n+size]; number == want {
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
			}
			return value
		}
		m = m[n+size:]
	}
	require.Failf(t, "no field", "%d", want)
	return nil
}

// Event files begin with the config, as TensorBoard's own reader finds it: a text, and hyper-parameters with types.
func TestConfigEvents(t *testing.T) {
	config := []byte("kind = 'ppo'\n# a comment = 3\nsteps = 400\nanneal = true\nhidden = [8, 4]\nrate = nan\n\n" +
		"[policy]\nname = \"mlp:8\"\n\n[env-param]\n'walls' = 0.25\n")
	type setting struct {
		name   string
		number protowire.Number
		text   string
	}
	var got []setting
	for _, s := range configSettings(config) {
		number, kind, n := protowire.ConsumeTag(s.value)
		require.Positive(t, n)
		x := setting{name: s.name, number: number}
		switch kind {
		case protowire.BytesType:
			text, _ := protowire.ConsumeString(s.value[n:])
			x.text = text
		case protowire.Fixed64Type:
			bits, _ := protowire.ConsumeFixed64(s.value[n:])
			require.Contains(t, []float64{400, .25}, math.Float64frombits(bits))
		}
		got = append(got, x)
	}
	require.Equal(t, []setting{{"anneal", valueBool, ""}, {"env-param.walls", valueNumber, ""},
		{"hidden", valueString, "[8, 4]"}, {"kind", valueString, "ppo"}, {"policy.name", valueString, "mlp:8"},
		{"rate", valueString, "nan"}, {"steps", valueNumber, ""}}, got)

	now := time.Unix(5, 0)
	body := func(record []byte) []byte { return record[12 : len(record)-4] }
	value := field(t, field(t, body(textEvent(config, now)), eventSummary), summaryValue)
	require.Equal(t, "config/text_summary", string(field(t, value, valueTag)))
	require.Contains(t, string(field(t, field(t, value, valueTensor), tensorStrings)), "steps = 400\n")
	value = field(t, field(t, body(hparamsEvent(config, now)), eventSummary), summaryValue)
	plugin := field(t, field(t, value, valueMetadata), metadataPlugin)
	require.Equal(t, "hparams", string(field(t, plugin, pluginName)))
	first := field(t, field(t, field(t, plugin, pluginContent), hparamsSession), sessionHParams)
	require.Equal(t, "anneal", string(field(t, first, 1)))
	require.Nil(t, configEvents(nil, now))
}
