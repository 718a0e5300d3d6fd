package xlarun_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeExample runs the README's Go program and compares its output with the README.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```go\n(.*?)```.*?```text\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, m, "the README has a block of go, followed by a block of text with its output")
	program, want := m[1], string(m[2])
	body := strings.Count(string(program[strings.Index(string(program), "func main"):]), "\n")
	require.LessOrEqual(t, body, 22, "the example is to stay short")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, program, 0o644))
	out, err := exec.Command("go", "run", file).CombinedOutput() // in this module, so that its packages are found
	require.NoError(t, err, "%s", out)
	require.Equal(t, want, string(out))
}

// TestSpikingExample runs the Go program of docs/spiking.md and compares its output with the text below it.
func TestSpikingExample(t *testing.T) {
	page, err := os.ReadFile("docs/spiking.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```go\n(.*?)```.*?```text\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, m, "the page has a block of go, followed by a block of text with its output")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, m[1], 0o644))
	out, err := exec.Command("go", "run", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, string(m[2]), string(out))
}

// TestExtendingExample runs the Go program of docs/extending.md with the command that stands below it, made short.
func TestExtendingExample(t *testing.T) {
	page, err := os.ReadFile("docs/extending.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```go\n(.*?)```.*?```sh\ngo run \\. (.*?)\n```").FindSubmatch(page)
	require.NotNil(t, m, "the page has a block of go, followed by the command that runs it")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, m[1], 0o644))
	args := append([]string{"run", file}, strings.Fields(string(m[2]))...)
	args = append(args, "--backend", "reference", "--policy", "linear", "--pop", "4", "--steps", "9", "--generations",
		"2", "--judge", "2", "--out", "none")
	out, err := exec.Command("go", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "generation 2: best ")
}
