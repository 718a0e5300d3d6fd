package peers

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"xlarun/internal/quantity"
)

// runPip runs pip and writes a line for each package that it downloads, and one when it installs them. The error has
// the cause that pip wrote to stderr.
func runPip(out io.Writer, pip *exec.Cmd) error {
	text, err := pip.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	pip.Stderr = &stderr
	if err := pip.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if s := step(lines.Text()); s != "" {
			fmt.Fprintln(out, s)
		}
	}
	_, _ = io.Copy(io.Discard, text) // what follows a line that is too long
	if err := pip.Wait(); err != nil {
		if cause := cause(stderr.String()); cause != "" {
			return fmt.Errorf("%s: %w", cause, err)
		}
		return err
	}
	return nil
}

// cause is the last line of pip's stderr that begins with an error, else the last line. Hints follow errors.
func cause(stderr string) (last string) {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		if lower := strings.ToLower(line); strings.HasPrefix(lower, "error") {
			return line
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// step returns our line about the progress that a line of pip's output shows; "": it shows none.
func step(line string) string {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	file, size, _ := strings.Cut(rest, " ")
	file = file[strings.LastIndexByte(file, '/')+1:]
	switch {
	case file == "":
	case verb == "Downloading" && !strings.HasSuffix(file, ".metadata"):
		return strings.TrimSpace("downloading " + wheelName(file) + " " + size)
	case verb == "Using" && strings.HasPrefix(rest, "cached "):
		file, size, _ = strings.Cut(strings.TrimPrefix(rest, "cached "), " ")
		if !strings.HasSuffix(file, ".metadata") {
			return strings.TrimSpace("already downloaded: " + wheelName(file) + " " + size)
		}
	case verb == "Building":
		return "building " + strings.TrimPrefix(rest, "wheel for ")
	case verb == "Installing" && strings.HasPrefix(rest, "collected packages: "):
		return "installing " + quantity.Count(strings.Count(rest, ",")+1, "package", "packages")
	}
	return ""
}

// wheelName is the name and the version of a wheel: "jax 0.10.2" of "jax-0.10.2-py3-none-any.whl".
func wheelName(file string) string {
	parts := strings.SplitN(file, "-", 3)
	if len(parts) < 3 {
		return file
	}
	return parts[0] + " " + parts[1]
}
