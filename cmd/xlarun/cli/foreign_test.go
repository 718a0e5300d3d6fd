package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A flag of another library is answered with the one that docs/how-to/coming-from.md has in the same place of its row.
func TestForeignFlags(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/coming-from.md")
	require.NoError(t, err)
	span := regexp.MustCompile("`([^`]*)`")
	asked := 0
	b := newBed(t)
	ask := func(command, theirs, want string) {
		b.err.b.Reset()
		require.Equal(t, StatusUsage, b.do(command, "--"+theirs, "1"))
		require.Contains(t, b.err.String(), "did you mean --"+want+"?", "%s --%s", command, theirs)
		asked++
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		theirs, ours := span.FindAllStringSubmatch(cells[1], -1), span.FindAllStringSubmatch(cells[2], -1)
		if len(theirs) != len(ours) {
			continue
		}
		for i := range ours {
			flag, ok := strings.CutPrefix(ours[i][1], "--")
			name := theirs[i][1]
			command := "ppo"
			if strings.HasPrefix(flag, "strategy.") {
				command = "evolve"
			}
			flag, _, _ = strings.Cut(flag, " ")
			if ok && regexp.MustCompile(`^([a-z.]+_[a-z_.]+|[A-Z_]+)$`).MatchString(name) &&
				strings.ToLower(strings.ReplaceAll(name, "_", "-")) != flag {
				ask(command, name[strings.LastIndexByte(name, '.')+1:], flag)
			}
		}
	}
	require.GreaterOrEqual(t, asked, 12)
	ask("ppo", "total-timesteps", "steps")
	ask("evolve", "total-timesteps", "total-steps")
	ask("evolve", "num-envs", "pop")
	ask("qd", "n_envs", "batch")
}
