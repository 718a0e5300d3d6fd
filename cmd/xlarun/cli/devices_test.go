package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// 1: xlarun --backend cuda was refused. Flags of the backend may stand before the command.
func TestBackendFirst(t *testing.T) {
	for i, c := range []struct{ line, want string }{
		{"evolve CartPole-v1 --backend cpu", "evolve CartPole-v1 --backend cpu"},
		{"--backend cuda evolve CartPole-v1", "evolve CartPole-v1 --backend cuda"},
		{"--backend=cuda --devices 2 cache list --json", "cache list --backend=cuda --devices 2 --json"},
		{"--plugin x.so evolve --plugin y.so", "evolve --plugin x.so --plugin y.so"},
		{"--backend cuda", "devices --backend cuda"},
		{"--devices 2 --backend cpu", "devices --devices 2 --backend cpu"},
		{"--backend", "devices --backend"},
		{"--backend cpu --help", "--help"},
		{"--json --backend cpu", "--json --backend cpu"},
		{"", ""},
	} {
		got := append([]string{}, backendFirst(strings.Fields(c.line))...)
		require.Equal(t, strings.Fields(c.want), got, "case %d", i+1)
	}
	b := newBed(t)
	b.ok(t, "--backend reference")
	require.Contains(t, b.out.String(), "reference device")
	require.Contains(t, b.out.String(), "xlarun --help lists the commands")
	b.refused(t, `--backend got "cpuu", wants one of cpu, cuda, rocm, tpu, reference`, "--backend cpuu")
}
