package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The layouts of the C program hold the same networks: after the same steps they have the same loss, which falls.
func TestLayoutsLearnTheSame(t *testing.T) {
	t.Setenv("XLARUN_CACHE", xlatest.CacheDir(t))
	train := func(layout, group string, steps int) (row layoutRow) {
		require.NoError(t, layoutProgram(t.Context(), &row, []string{"-DGROUP=" + group}, layout, 60, steps, 2))
		require.Equal(t, steps, row.Steps)
		return row
	}
	want := train("aos", "16", 128)
	assert.Equal(t, 14451, want.Connections)
	assert.EqualValues(t, 12*14451, want.Set)
	aliased := train("aliased", "16", 128) // 200 is no multiple of 16
	assert.InDelta(t, want.Loss, aliased.Loss, 1e-4)
	if !long.On() {
		return // each layout is a C program to compile
	}
	assert.Less(t, want.Loss, train("aos", "16", 64).Loss)
	groups := train("groups", "16", 128)
	assert.InDelta(t, want.Loss, groups.Loss, 1e-4)
	assert.InDelta(t, want.Loss, train("aliased", "7", 128).Loss, 1e-4)
	assert.EqualValues(t, 16*12*14451, groups.Set)
	// A group that aliases has 98 % of its places once instead of 16 times.
	assert.InDelta(t, groups.Set-15*4*.98*14451, aliased.Set, 15*4*.001*14451)
	assert.Less(t, aliased.Moved, groups.Moved)
}

func TestCountInstructions(t *testing.T) {
	for _, c := range []struct {
		text string
		want instructions
		says string
	}{
		{"", instructions{}, "not vectorized, 0 scalar"},
		{" 4010:\tvfmadd231ps (%rax),%zmm1,%zmm2\n 4016:\tvfmadd213ss %xmm0,%xmm1,%xmm2\n",
			instructions{Packed: 1, Bits: 512, Scalar: 1}, "1 packed (512 bits), 1 scalar"},
		{" 1:\taddps  %xmm0,%xmm1\n 2:\tvmulps %ymm0,%ymm1,%ymm2\n 3:\tvgatherdps (%rax,%zmm1,4),%zmm2{%k1}\n" +
			" 4:\tvscatterdps %zmm2,(%rax,%zmm1,4){%k1}\n 5:\tvfnmadd132ps %xmm0,%xmm1,%xmm2\n",
			instructions{Packed: 3, Bits: 256, Gathers: 1, Scatters: 1},
			"3 packed (256 bits), 0 scalar, 1 gathers, 1 scatters"},
		{" 1:\tmovaps %xmm0,%xmm1\n 2:\tmulss  %xmm0,%xmm1\n 3:\tvaddpd %zmm0,%zmm1,%zmm2\n 4:\tcall 10 <addps>\n",
			instructions{Scalar: 1}, "not vectorized, 1 scalar"},
	} {
		got := countInstructions(c.text)
		assert.Equal(t, c.want, got, c.text)
		assert.Equal(t, c.says, got.String())
	}
}

// The kernels in groups are vectors; what cannot be checked is named in a sentence.
func TestDisassemble(t *testing.T) {
	t.Setenv("XLARUN_CACHE", xlatest.CacheDir(t))
	program, err := compileC(t.Context(), layoutSource, "-DGROUP=16")
	require.NoError(t, err)
	_, err = disassemble(t.Context(), program, "sparse_nothing")
	assert.ErrorContains(t, err, "the machine code of sparse_nothing was not checked")
	if code, err := disassemble(t.Context(), program, "sparse_aliased"); err == nil {
		assert.Positive(t, code.Packed)
	} else {
		assert.ErrorContains(t, err, "was not checked")
	}
	t.Setenv("PATH", t.TempDir())
	_, err = disassemble(t.Context(), program, "sparse_aliased")
	assert.EqualError(t, err, "the machine code was not checked, as there is no objdump in the PATH: install binutils")
}

// The protocol runs each layout and ours, and prints a row of each.
func TestProtocol(t *testing.T) {
	long.Only(t) // it measures the machine's memory
	client := xlatest.Open(t, 1)
	b := newBed(t)
	t.Setenv("XLARUN_CACHE", xlatest.CacheDir(t)) // for the C programs
	b.openBackend = func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		return client, nil
	}
	assert.Zero(t, b.do("sparse", "--protocol", "--for", "1ms", "--groups", "7,16", "--devices", "1", "--json"), b.err)
	text := b.out.String()
	for _, name := range []string{"array of structs", "groups of 7", "groups of 16",
		"groups of 7, aliased", "groups of 16, aliased", "ours", "roofline: "} {
		assert.Contains(t, text, "\n"+name)
	}
	layouts := b.result(t)["layouts"].([]any)
	require.Len(t, layouts, 6)
	for _, x := range layouts {
		row := x.(map[string]any)
		assert.Positive(t, row["steps"], row["name"])
		assert.EqualValues(t, 14451, row["connections"], row["name"])
	}
}

func TestProtocolRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--for got 0s, wants a time above 0", []string{"--protocol", "--for", "0s"}},
		{"--groups got 0, wants numbers from 1 to 200", []string{"--protocol", "--groups", "16,0"}},
		{"--groups got 201, wants numbers from 1 to 200", []string{"--protocol", "--groups", "201"}},
		{"--groups got [4] without --protocol", []string{"--groups", "4"}},
		{"--for got 3s without --protocol", []string{"--for", "3s"}},
		{`--protocol takes no workload, got "sparse-masked"`, []string{"--protocol", "sparse-masked"}},
		{"--backend got cuda, wants cpu", []string{"--protocol", "--backend", "cuda"}},
	} {
		b := newBed(t)
		assert.Equal(t, 2, b.do(append([]string{"sparse"}, c.args...)...))
		assert.Contains(t, b.err.String(), c.want)
		assert.Zero(t, b.opened)
	}
}
