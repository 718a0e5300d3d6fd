package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// FuzzConfig looks for config files that panic. Each one is refused, or gives the settings of a run.
func FuzzConfig(f *testing.F) {
	for _, kind := range run.Kinds() {
		x, err := new(flagValues).resolve(kind, "", nil)
		require.NoError(f, err)
		f.Add(x.text)
	}
	f.Add("pop = 1e9\n[strategy]\nname = 'openes'\nsigma = nan\n[env-param]\na = [1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseConfig("config.toml", []byte(text))
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, kind := range run.Kinds() {
			if x, err := new(flagValues).resolve(kind, "", c); err == nil {
				_, err = parseConfig("config.toml", []byte(x.text))
				require.NoError(t, err, x.text)
			}
		}
	})
}
