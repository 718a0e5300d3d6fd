package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFaultApplies: a row is one place of a source, and its packages have tests.
func TestEveryFaultApplies(t *testing.T) {
	all, err := faults(table)
	require.NoError(t, err)
	require.Len(t, all, 40)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range all {
		_, err := f.broken(root)
		require.NoError(t, err)
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		require.NotContains(t, f.File, "_test.go")
		require.NotEmpty(t, f.Packages, f.Name)
		for _, p := range f.Packages {
			tests, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
			require.NoError(t, err)
			require.NotEmpty(t, tests, "%s: %s has no tests", f.Name, p)
		}
	}
}

// TestFaultsAreToldApart: what a test notices, what none does, what kills the tests and what does not compile.
func TestFaultsAreToldApart(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc f() int { return 1 }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\n" +
			"func TestF(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	t.Setenv("GOWORK", "off")
	for _, c := range []struct {
		old, new, noticed string
	}{
		{"return 1", "return 2", "`TestF`"},
		{"return 1", "return 2 - 1", "**nothing**"},
		{"return 1", "return one", "**does not compile**"},
		{"package p", "package p\n\nfunc init() { panic(1) }", "`m/p`"},
	} {
		r, err := fault{"a", "p/p.go", c.old, c.new, []string{"p"}}.run(root, false)
		require.NoError(t, err)
		require.Equal(t, c.noticed, r.noticed(), c.new)
	}
	_, err := fault{"a", "p/p.go", "return 3", "return 2", []string{"p"}}.run(root, false)
	require.ErrorContains(t, err, "old occurs 0 times in p/p.go")
}

func TestWanted(t *testing.T) {
	f := fault{Name: "GAE bootstraps"}
	require.True(t, wanted(f, 3, nil))
	require.True(t, wanted(f, 3, []string{"x", "gae"}))
	require.True(t, wanted(f, 3, []string{"3"}))
	require.False(t, wanted(f, 3, []string{"4", "cache"}))
}
