package console

import (
	"runtime/debug"
	"strings"
)

// release is the version of a release's build, which sets it: -ldflags "-X xlarun/cmd/xlarun/console.release=1.2.3".
var release string

// nextRelease is the version that the sources are on the way to.
const nextRelease = "0.1.0"

// Version is the release, or the version of the module that Go built it from, or the one on the way with the commit of
// the checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(release, info)
}

func versionOf(release string, info *debug.BuildInfo) string {
	const path = "xlarun"
	if release != "" {
		return release
	}
	// In a program of one's own this module is one that it depends on.
	module := info.Main
	for _, dep := range info.Deps {
		if dep.Path == path {
			module = *dep
		}
	}
	// Go makes v0.0.0-TIME-COMMIT of a checkout without tags: the settings say the same better.
	own := info.Main.Path == path
	if strings.HasPrefix(module.Version, "v") && !(own && strings.HasPrefix(module.Version, "v0.0.0-")) {
		return strings.TrimPrefix(module.Version, "v")
	}
	v := nextRelease + "-dev"
	if !own {
		return v // the commit is that of another checkout
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		v += "+" + commit[:min(12, len(commit))]
		if settings["vcs.modified"] == "true" {
			v += ".modified"
		}
	}
	return v
}
