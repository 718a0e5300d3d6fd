package plugin

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"xlarun/third_party/fetch"
)

// fromPip leaves the download to pip, which knows ways (keyrings, netrc, client
// certificates) that the others do not.
func fromPip(ctx context.Context, a *fetch.Artefact, dst *fetch.Sink) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		if python, err = exec.LookPath("python"); err != nil {
			return errors.New("there is no python3 on this machine")
		}
	}
	return runPip(ctx, []string{python, "-m", "pip"}, a, dst)
}

// runPip runs the command pip (its program and first arguments).
func runPip(ctx context.Context, pip []string, a *fetch.Artefact, dst *fetch.Sink) error {
	return fetch.FromProgram(ctx, dst, func(dir string) (args, env []string) {
		return append(pip[:len(pip):len(pip)], pipArguments(a, dir)...), []string{"PIP_REQUIRE_VIRTUALENV=false"}
	})
}

// pipArguments asks for exactly the pinned wheel, whatever Python runs pip: the
// tags are those of the file's name.
func pipArguments(a *fetch.Artefact, dir string) []string {
	args := []string{"download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check",
		"--retries", "2", "--only-binary=:all:", "--dest", dir}
	tags := strings.Split(strings.TrimSuffix(a.File, ".whl"), "-")
	if len(tags) >= 5 {
		python, abi, platforms := tags[len(tags)-3], tags[len(tags)-2], tags[len(tags)-1]
		for _, p := range strings.Split(platforms, ".") {
			args = append(args, "--platform", p)
		}
		if version, ok := strings.CutPrefix(python, "cp"); ok {
			args = append(args, "--implementation", "cp", "--python-version", version, "--abi", abi)
		}
	}
	return append(args, a.Name+"=="+a.Version)
}
