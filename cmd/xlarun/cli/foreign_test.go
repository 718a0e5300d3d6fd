package cli

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A flag of another library is answered with the one that docs/how-to/coming-from.md has in the same place of its row.
func TestForeignFlags(t *testing.T) {
	page, err := os.ReadFile("../../../docs/how-to/coming-from.md")
	require.NoError(t, err)
	span := regexp.MustCompile("`([^`]*)`")
	asked, b := 0, newBed(t)
	ask := func(command, theirs, want string) {
		b.refused(t, "did you mean --"+want+"?", append(strings.Fields(command), "--"+theirs, "1")...)
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
			name, command := theirs[i][1], "ppo"
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
	for row := range slices.Chunk(strings.Fields(`ppo total-timesteps steps evolve total-timesteps total-steps
		evolve num-envs pop qd n_envs batch evolve judge eval-episodes evolve exam-target validation-target
		evolve exam-param validation-param evolve lanes-last batch-last selfplay drawn-moves sampled-moves
		ppo entropy entropy-coef ppo value-weight value-coef evolve lrate learning-rate ppo lrate learning-rate`), 3) {
		ask(row[0], row[1], row[2])
	}
	b.refused(t, "there is no flag --log_std_init, did you mean --deviation? It is exp(log_std_init);", "ppo",
		"--log_std_init", "-1")
	// A flag that the chosen strategy, or the policy, does not have is not suggested: that was --rate, of other ones.
	b.err.b.Reset()
	require.Equal(t, StatusUsage, b.do("evolve", "--strategy", "cmaes", "--lrate", "1"))
	require.Equal(t, "xlarun evolve: there is no flag --lrate, did you mean --grace?; see xlarun evolve --help\n",
		b.err.String())
	ask("ppo --policy transformer", "head", "heads")
}
