package xlabridge_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/kernels"
)

// The list has every C file of the folder, with its instruction sets, and no name twice.
func TestKernelsMatchTheFolder(t *testing.T) {
	want, names := []string{"ffi.c", "sparse_handler.c", "narrowdot_sets.c"}, map[string]bool{}
	for _, k := range kernels.All {
		require.False(t, names[k.Name], "%s is listed twice", k.Name)
		require.NotNil(t, k.Handler, k.Name)
		names[k.Name] = true
		want = append(want, k.Source)
		base := strings.TrimSuffix(k.Source, ".c")
		for _, elements := range []string{"_bf16", "_int8"} {
			if k.Sets != nil && strings.Contains(k.Name+"_", elements+"_") {
				base += elements
			}
		}
		for _, set := range k.Sets {
			want = append(want, base+"_"+set+".c")
		}
	}
	have, err := filepath.Glob("kernels/*.c")
	require.NoError(t, err)
	for i, name := range have {
		have[i] = filepath.Base(name)
	}
	slices.Sort(want)
	slices.Sort(have)
	require.Equal(t, slices.Compact(want), have)
	require.Regexp(t, regexp.MustCompile(`^plain`), kernels.VectorSets()[0])
}

// another is a kernel that this binary registers before it opens a plugin.
const another = "another"

func init() { kernels.Register(another, kernels.All[0].Handler) }

// A plugin learns of the kernels of package kernels and of those that others register.
func TestKernelsOfOthers(t *testing.T) {
	all := kernels.Registered()
	require.Equal(t, kernels.All, all[:len(kernels.All)])
	require.Equal(t, []kernels.Kernel{{Name: another, Handler: kernels.All[0].Handler}}, all[len(kernels.All):])
}
