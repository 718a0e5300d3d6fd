package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlowest(t *testing.T) {
	in := `{"Action":"run","Package":"p","Test":"TestQuick"}
{"Action":"output","Package":"p","Test":"TestQuick","Output":"hidden\n"}
{"Action":"pass","Package":"p","Test":"TestQuick","Elapsed":0.5}
{"Action":"output","Package":"p","Test":"TestBroken/case","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestBroken/case","Elapsed":2}
{"Action":"fail","Package":"p","Test":"TestBroken","Elapsed":2}
{"Action":"skip","Package":"p","Test":"TestLong","Elapsed":0}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2.5s\n"}
{"Action":"fail","Package":"p","Elapsed":2.5}
not JSON
`
	var out strings.Builder
	r, err := read(strings.NewReader(in), &out)
	require.NoError(t, err)
	require.Equal(t, "why\nFAIL\tp\t2.5s\nnot JSON\n", out.String())
	require.Equal(t, []string{"p TestBroken/case", "p TestBroken", "p"}, r.failed)
	out.Reset()
	r.print(&out, 1)
	require.Equal(t, `
the slowest 1 of 2 tests, which took 2 s together:
    2.0 s  p TestBroken

FAIL: p TestBroken/case, p TestBroken, p
`, out.String())
}

// A test that never ended was not named, and the dump of its goroutines was not shown.
func TestUnfinished(t *testing.T) {
	in := `{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"=== RUN   TestHangs\n"}
{"Action":"output","Package":"q","Test":"TestOther","Output":"of another package\n"}
{"Action":"output","Package":"p","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t2.5s\n"}
{"Action":"fail","Package":"p","Elapsed":2.5}
`
	var out strings.Builder
	r, err := read(strings.NewReader(in), &out)
	require.NoError(t, err)
	require.Equal(t, "FAIL\tp\t2.5s\n=== RUN   TestHangs\npanic: test timed out\n", out.String())
	require.Equal(t, []string{"p TestHangs (did not end)", "p"}, r.failed)
}
