package command

import (
	"bufio"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
)

// After SIGTERM serve, work and study run end with 75, and the same commands go on to the bytes of an undisturbed
// study. They ended with 143, a failure for engines.
func TestTerminatedStudy(t *testing.T) {
	long.Only(t)
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(s.Path("spec.toml"), []byte(`name = "long"
metric = "mean_fitness"
trials = 6
sampler = "random"
report-every = 1
checkpoint-every = "1ms"
trials-as = "processes"
`+strings.Replace(smallRun, "generations = 2", "generations = 200", 1)), 0o666))
	s.Do(t, "study", "run", "spec.toml", "--storage", "whole.db")
	s.Do(t, "study", "export", "whole.db", "--out", "whole.csv")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	serve := []string{"serve", "spec.toml", "--listen", address, "--no-workers", "--storage", "served.db"}
	work := []string{"work", "nats://" + address, "--workers", "1", "--wait", "1m"}
	for _, c := range []struct {
		commands [][]string
		storage  string
	}{
		{[][]string{serve, work}, "served.db"},
		{[][]string{{"study", "run", "spec.toml", "--storage", "run.db"}}, "run.db"},
	} {
		var all []*shelltest.Process
		begun := make(chan struct{})
		for i, args := range c.commands {
			p := s.Command(args...)
			if all = append(all, p); i == 0 {
				p.Stdout = nil
				out, err := p.StdoutPipe()
				require.NoError(t, err)
				go func() {
					for lines := bufio.NewScanner(out); lines.Scan(); {
						if strings.HasPrefix(lines.Text(), "trial 0  complete") {
							close(begun)
						}
					}
				}()
			}
			require.NoError(t, p.Start())
		}
		<-begun
		for _, p := range all {
			require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		}
		for _, p := range all {
			require.Equal(t, 75, p.Ended(), "%v: %s", p.Args, &p.Err)
		}
		all = nil
		for _, args := range c.commands {
			p := s.Command(args...)
			require.NoError(t, p.Start())
			all = append(all, p)
		}
		for _, p := range all {
			require.Equal(t, 0, p.Ended(), "%v: %s", p.Args, &p.Err)
		}
		s.Do(t, "study", "export", c.storage, "--out", "again.csv")
		require.Equal(t, s.Read(t, "whole.csv"), s.Read(t, "again.csv"))
		require.NoError(t, os.Remove(s.Path("again.csv")))
	}
}
