package console

import (
	"runtime/debug"
	"strings"
)

// release is the version of a release. Its build sets it by -ldflags "-X xlarun/cmd/xlarun/console.release=1.2.3".
var release string

// nextRelease is the version that follows this source.
const nextRelease = "0.1.0"

// Version returns the release, or the version of the module that Go built, or the next release with the commit of the
// checkout.
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
	// In a user's own program, this module is a dependency.
	module := info.Main
	for _, dep := range info.Deps {
		if dep.Path == path {
			module = *dep
		}
	}
	// For a checkout without tags, Go makes v0.0.0-TIME-COMMIT; the settings below have the commit too.
	isMain := info.Main.Path == path
	if strings.HasPrefix(module.Version, "v") && !(isMain && strings.HasPrefix(module.Version, "v0.0.0-")) {
		return strings.TrimPrefix(module.Version, "v")
	}
	v := nextRelease + "-dev"
	if !isMain {
		return v // the commit is of the user's checkout
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
