package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"xlarun/xlabridge/fetch"
)

// pluginNames match the usual file names of plugins. The first group names the backend.
var pluginNames = []*regexp.Regexp{
	regexp.MustCompile(`^(?:lib)?pjrt_c_api_(.+)_plugin\.(?:so|dylib)$`),
	regexp.MustCompile(`^pjrt[-_]plugin[-_](.+)\.(?:so|dylib)$`),
	regexp.MustCompile(`^xla_(cuda|cpu|rocm)\d*_(?:plugin|pjrt)\.so$`),
	regexp.MustCompile(`^lib(tpu)\.so$`),
}

// backendOfName returns the backend in a plugin's file name, or "".
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
		case strings.Contains(name, "rocm"):
			return "rocm"
		case strings.Contains(name, "tpu"):
			return "tpu"
		}
		return name
	}
	return ""
}

// searchList returns the first plugin of backend in a list of files and folders, or "". It skips a file whose name
// contains another backend: the list may hold the plugins of several backends.
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

// searchDir returns the first file of dir with the name of a plugin of backend, or "".
func searchDir(dir, backend string) string {
	entries, _ := os.ReadDir(dir) // sorted by name
	for _, e := range entries {
		if !e.IsDir() && backendOfName(e.Name()) == backend {
			return filepath.Join(dir, e.Name())
		}
	}
	return ""
}

// pluginFile returns the absolute path of the plugin at path, a file or a folder that the user named.
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
