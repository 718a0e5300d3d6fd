package console

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	checkout := func(settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "xlarun", Version: "(devel)"}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0887bd257ee0d59537c86b9a15401c31b8e1ca45"}
	pseudo := checkout(commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	pseudo.Main.Version = "v0.0.0-20261122002358-0887bd257ee0+dirty"
	installed := &debug.BuildInfo{Main: debug.Module{Path: "xlarun", Version: "v0.3.1"}}
	other := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "mine", Version: "v9.9.9"}, Settings: []debug.BuildSetting{
			commit},
			Deps: []*debug.Module{{Path: "elsewhere", Version: "v8.0.0"}, {Path: "xlarun", Version: version}}}
	}
	replaced := other("v0.0.0")
	replaced.Settings, replaced.Deps[1].Replace = nil, &debug.Module{Path: "../xlarun"}
	for _, c := range []struct {
		number        int
		what, release string
		info          *debug.BuildInfo
		want          string
	}{
		{1, "a release's build", "1.2.3", pseudo, "1.2.3"},
		{2, "built without version control", "", checkout(), nextRelease + "-dev"},
		{3, "built from a commit", "", checkout(commit), nextRelease + "-dev+0887bd257ee0"},
		{4, "built from a changed checkout", "", pseudo, nextRelease + "-dev+0887bd257ee0.modified"},
		{5, "installed as a module", "", installed, "0.3.1"},
		{6, "in a program of one's own", "", other("v0.3.1"), "0.3.1 in mine+0887bd257ee0"},
		{7, "in a program of one's own, from a workspace", "", other("(devel)"), nextRelease +
			"-dev in mine+0887bd257ee0"},
		{9, "in a program of one's own, from a folder: it was 0.0.0", "", replaced, nextRelease + "-dev in mine"},
		{8, "without any information", "", &debug.BuildInfo{}, nextRelease + "-dev"},
	} {
		require.Equal(t, c.want, versionOf(c.release, c.info), "%d: %s", c.number, c.what)
	}
}
