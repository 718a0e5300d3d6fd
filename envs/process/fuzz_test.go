package process

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzPipe looks for first lines and answers of a process on which a reader panics or hangs.
func FuzzPipe(f *testing.F) {
	greeting := `{"protocol": 1, "observation": {"shape": [2]}, "action": {"n": 3}, "max_steps": 5}` + "\n"
	for _, answer := range []string{"ok 14\n01234567890123", "ok 14\n0", "error no\n", "ok -1\n", "ok 99999999999999\n",
		"x", "ok 14\n01234567890123more"} {
		f.Add(greeting, answer)
	}
	f.Add(`{"protocol": 1, "timeout": 1e-9}`+"\n", "")
	f.Add(`{"protocol": 1, "observation": {"n": 2}, "action": {"low": [null], "high": 2, "shape": [3]}}`+"\n", "")
	f.Fuzz(func(t *testing.T, greeting, answer string) {
		from, in, err := os.Pipe()
		require.NoError(t, err)
		out, to, err := os.Pipe()
		require.NoError(t, err)
		defer func() { _, _, _ = from.Close(), out.Close(), to.Close() }()
		go func() {
			_, _ = in.WriteString(greeting + answer)
			_ = in.Close()
		}()
		p := &pipe{command: &exec.Cmd{}, to: to, from: from, answers: bufio.NewReader(from), words: &tail{},
			wait: time.Minute}
		line, err := p.line()
		if err != nil {
			return
		}
		spec, err := p.greeting(line)
		p.wait = time.Minute
		if err != nil {
			return
		}
		require.NoError(t, spec.Check())
		rows, err := p.ask("step", 1, nil, []int{8, 4, 1, 1})
		if err == nil {
			require.Len(t, rows, 4)
		}
	})
}
