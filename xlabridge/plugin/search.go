package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"xlarun/xlabridge/fetch"
)

// pluginNames matches the base names that plugin builders give their shared
// objects; the first group, where there is one, names the backend.
var pluginNames = []*regexp.Regexp{
	regexp.MustCompile(`^(?:lib)?pjrt_c_api_(.+)_plugin\.(?:so|dylib)$`),
	regexp.MustCompile(`^pjrt[-_]plugin[-_](.+)\.(?:so|dylib)$`),
	regexp.MustCompile(`^xla_(cuda|cpu)\d*_(?:plugin|pjrt)\.so$`),
	regexp.MustCompile(`^lib(tpu)\.so$`),
}

// backendOfName tells the backend that a plugin's file name speaks of, "" where
// it speaks of none.
func backendOfName(base string) string {
	for _, re := range pluginNames {
		m := re.FindStringSubmatch(base)
		if m == nil {
			continue
		}
		name := strings.ToLower(m[1])
		switch {
		case strings.Contains(name, "cpu"):
			return "cpu"
		case strings.Contains(name, "cuda"), name == "gpu":
			return "cuda"
		case strings.Contains(name, "tpu"):
			return "tpu"
		}
		return name
	}
	return ""
}

// searchList looks for backend's plugin along a list of files and folders. A
// file that by its name serves another backend is passed over, since one
// variable may name the plugins of several. An empty path without an error
// means that the list holds none.
func searchList(list, backend string) (string, error) {
	for _, entry := range filepath.SplitList(list) {
		if entry == "" {
			continue
		}
		info, err := os.Stat(entry)
		switch {
		case err != nil && filepath.Ext(entry) == ".so":
			return "", fmt.Errorf("plugin: %s names %s, which cannot be opened (%w): correct or unset it", EnvPath,
				entry, fetch.Cause(err))
		case err != nil:
			continue
		case info.IsDir():
			if found := searchDir(entry, backend); found != "" {
				return found, nil
			}
		default:
			if b := backendOfName(filepath.Base(entry)); b == "" || b == backend {
				return entry, nil
			}
		}
	}
	return "", nil
}

// searchDir returns the first file of dir, by name, that is named as a plugin of
// backend, or "".
func searchDir(dir, backend string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && backendOfName(e.Name()) == backend {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	return filepath.Join(dir, names[0])
}

// pluginFile turns what the user named into the absolute path of a plugin file.
func pluginFile(path, backend string, source Source) (string, error) {
	from := "--plugin"
	if source == SourceEnv {
		from = EnvPath
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("plugin: %s %s: %w", from, path, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("plugin: %s names %s, which cannot be opened (%w): give the path of a PJRT plugin's "+
			".so file", from, path, fetch.Cause(err))
	}
	if info.IsDir() {
		found := searchDir(abs, backend)
		if found == "" {
			return "", fmt.Errorf("plugin: %s names the folder %s, which holds no %s plugin (such as "+
				"pjrt_c_api_%s_plugin.so): give the .so file itself", from, path, backend, backend)
		}
		return found, nil
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf(
			"plugin: %s names %s, which is no regular file: give the path of a PJRT plugin's .so file", from, path)
	}
	return abs, nil
}
