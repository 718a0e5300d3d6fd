package peers

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"xlarun/internal/quantity"
)

// saying runs pip and writes a line for each package that it downloads, and one when it installs them. The error ends
// with the last line of what pip wrote to stderr.
func saying(out io.Writer, pip *exec.Cmd) error {
	text, err := pip.StdoutPipe()
	if err != nil {
		return err
	}
	var failed strings.Builder
	pip.Stderr = &failed
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
		said := strings.Split(strings.TrimSpace(failed.String()), "\n")
		return fmt.Errorf("%s: %w", said[len(said)-1], err)
	}
	return nil
}

// step says what a line of pip's output tells of its progress; "": nothing.
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
