package plugin

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/third_party/fetch"
)

// pipConfig is what of pip's configuration bears on a download.
type pipConfig struct {
	indexes   []string // index-url, then extra-index-url; empty where none is named
	findLinks []string // local folders with wheels
	noIndex   bool
	cert      string // file of further TLS roots, PEM
	proxy     string
}

// readPipConfig reads pip's configuration as pip does: the files from the
// system's to the user's to the virtual environment's, then the file that
// PIP_CONFIG_FILE names, then the PIP_ variables; the later wins.
func readPipConfig(getenv func(string) string, readFile func(string) ([]byte, error)) (pipConfig, error) {
	settings := map[string]string{}
	for _, file := range pipConfigFiles(getenv) {
		if text, err := readFile(file); err == nil {
			parsePipConfig(text, settings)
		}
	}
	if file := getenv("PIP_CONFIG_FILE"); file != "" && file != os.DevNull {
		text, err := readFile(file)
		if err != nil {
			return pipConfig{}, fmt.Errorf("PIP_CONFIG_FILE names %s, which cannot be read: %w", file, fetch.Cause(err))
		}
		parsePipConfig(text, settings)
	}
	for _, key := range []string{"index-url", "extra-index-url", "find-links", "no-index", "cert", "proxy"} {
		if v := getenv("PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))); v != "" {
			settings[key] = v
		}
	}
	conf := pipConfig{cert: settings["cert"], proxy: settings["proxy"]}
	conf.indexes = append(strings.Fields(settings["index-url"]), strings.Fields(settings["extra-index-url"])...)
	for _, link := range strings.Fields(settings["find-links"]) {
		if !strings.HasPrefix(link, "http:") && !strings.HasPrefix(link, "https:") {
			conf.findLinks = append(conf.findLinks, link)
		}
	}
	conf.noIndex = slices.Contains([]string{"1", "true", "yes", "on", "y", "t"}, strings.ToLower(settings["no-index"]))
	return conf, nil
}

// pipConfigFiles lists the files that pip reads by itself, the weakest first.
func pipConfigFiles(getenv func(string) string) []string {
	if getenv("PIP_CONFIG_FILE") == os.DevNull {
		return nil // pip's way to say: read none
	}
	system := getenv("XDG_CONFIG_DIRS")
	if system == "" {
		system = "/etc/xdg"
	}
	var files []string
	for _, dir := range filepath.SplitList(system) {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	home := getenv("HOME")
	if home != "" {
		files = append(files, filepath.Join(home, ".pip", "pip.conf"))
	}
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		files = append(files, filepath.Join(dir, "pip", "pip.conf"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "pip", "pip.conf"))
	}
	if dir := getenv("VIRTUAL_ENV"); dir != "" {
		files = append(files, filepath.Join(dir, "pip.conf"))
	}
	return files
}

// parsePipConfig adds the settings of the sections global and download, the
// latter being the stronger, in the format of Python's configparser: "key =
// value" or "key: value", indented lines continue a value.
func parsePipConfig(text []byte, into map[string]string) {
	sections := map[string]map[string]string{"global": {}, "download": {}}
	var section map[string]string
	key := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[' && strings.HasSuffix(trimmed, "]"):
			section, key = sections[strings.TrimSpace(trimmed[1:len(trimmed)-1])], ""
		case section == nil:
		case key != "" && (line[0] == ' ' || line[0] == '\t'):
			section[key] += "\n" + trimmed
		default:
			i := strings.IndexAny(trimmed, "=:")
			if i < 0 {
				key = ""
				continue
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(trimmed[:i])), "_", "-")
			section[key] = strings.TrimSpace(trimmed[i+1:])
		}
	}
	for _, name := range []string{"global", "download"} {
		for k, v := range sections[name] {
			into[k] = v
		}
	}
}

// client is an HTTP client with pip's TLS roots and proxy besides the system's.
func (c *pipConfig) client() (*fetch.Client, error) {
	t := fetch.NewTransport()
	if c.proxy != "" {
		proxy := c.proxy
		if !strings.Contains(proxy, "://") {
			proxy = "http://" + proxy
		}
		u, err := url.Parse(proxy)
		if err != nil {
			return nil, fmt.Errorf("pip's setting proxy is no address")
		}
		t.Proxy = http.ProxyURL(u)
	}
	if c.cert != "" {
		pem, err := os.ReadFile(c.cert)
		if err != nil {
			return nil, fmt.Errorf("pip's setting cert names %s, which cannot be read: %w", c.cert, fetch.Cause(err))
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("pip's setting cert names %s, which holds no certificate", c.cert)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return fetch.NewClient(t), nil
}
