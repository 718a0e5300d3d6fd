package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/xlabridge/fetch"
)

// pipConfig holds pip's settings for a download.
type pipConfig struct {
	indexes []string // index-url, then extra-index-url
	noIndex bool
	pipOnly bool // there are settings that only pip supports
}

// readPipConfig reads pip's configuration in pip's order: the files of the system, of the user and of the virtual
// environment, the file in PIP_CONFIG_FILE, then the PIP_ variables. Later settings win.
func readPipConfig(getenv func(string) string, readFile func(string) ([]byte, error)) (pipConfig, error) {
	settings := map[string]string{}
	named := getenv("PIP_CONFIG_FILE")
	if named != os.DevNull { // /dev/null turns all files off
		for _, file := range append(pipConfigFiles(getenv), named) {
			text, err := readFile(file)
			if err == nil {
				parsePipConfig(text, settings)
			} else if file == named && named != "" {
				return pipConfig{}, fmt.Errorf("PIP_CONFIG_FILE names %s, which cannot be read: %w", file,
					fetch.Cause(err))
			}
		}
	}
	setting := func(key string) string {
		if v := getenv("PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))); v != "" {
			return v
		}
		return settings[key]
	}
	return pipConfig{
		indexes: append(strings.Fields(setting("index-url")), strings.Fields(setting("extra-index-url"))...),
		noIndex: slices.Contains([]string{"1", "true", "yes", "on", "y", "t"}, strings.ToLower(setting("no-index"))),
		pipOnly: setting("find-links")+setting("cert")+setting("client-cert")+setting("proxy") != "",
	}, nil
}

// pipConfigFiles lists pip's default configuration files. Later files win.
func pipConfigFiles(getenv func(string) string) []string {
	var files []string
	for _, dir := range filepath.SplitList(cmp.Or(getenv("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	}
	home := getenv("HOME")
	files = append(files, "/etc/pip.conf", filepath.Join(home, ".pip", "pip.conf"),
		filepath.Join(cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "pip", "pip.conf"))
	if dir := getenv("VIRTUAL_ENV"); dir != "" {
		files = append(files, filepath.Join(dir, "pip.conf"))
	}
	return files
}

// parsePipConfig adds the settings of the sections global and download to into; download wins. It reads the format of
// Python's configparser: "key = value" or "key: value"; indented lines continue a value.
func parsePipConfig(text []byte, into map[string]string) {
	sections := map[string]map[string]string{"global": {}, "download": {}}
	var section map[string]string
	key := ""
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		name, header := strings.CutPrefix(trimmed, "[")
		i := strings.IndexAny(trimmed, "=:")
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case header:
			section, key = sections[strings.TrimSpace(strings.TrimSuffix(name, "]"))], ""
		case section == nil:
		case key != "" && strings.ContainsAny(line[:1], " \t"):
			section[key] += "\n" + trimmed
		case i > 0:
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(trimmed[:i])), "_", "-")
			section[key] = strings.TrimSpace(trimmed[i+1:])
		default:
			key = ""
		}
	}
	for _, name := range []string{"global", "download"} {
		maps.Copy(into, sections[name])
	}
}
