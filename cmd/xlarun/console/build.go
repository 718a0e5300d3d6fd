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
// checkout. In a user's own program that program and its commit follow: "0.3.1 in example.com/mine+0887bd257ee0".
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
	if info.Main.Path == path {
		// For a checkout without tags, Go makes v0.0.0-TIME-COMMIT; the settings have the commit too.
		if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.HasPrefix(v, "v0.0.0-") {
			return v[1:]
		}
		return nextRelease + "-dev" + commitOf(info)
	}
	v := nextRelease + "-dev"
	for _, dep := range info.Deps { // this module is a dependency
		if dep.Path != path {
			continue
		}
		if dep.Replace != nil { // a folder has no version, and the one that it replaces was never read
			dep = dep.Replace
		}
		if strings.HasPrefix(dep.Version, "v") {
			v = dep.Version[1:]
		}
	}
	if info.Main.Path == "" {
		return v
	}
	return v + " in " + info.Main.Path + commitOf(info)
}

// Commit returns the commit of the checkout that this program was built from, with ".modified" where the checkout had
// changes; "" if it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return strings.TrimPrefix(commitOf(info), "+")
}

// commitOf returns the commit of the checkout that was built: "+0887bd257ee0.modified"; "" if it is not known.
func commitOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return ""
	}
	text := "+" + commit[:min(12, len(commit))]
	if settings["vcs.modified"] == "true" {
		text += ".modified"
	}
	return text
}
