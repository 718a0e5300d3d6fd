package xlarun_test

import (
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/internal/ramdisk"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
)

func TestMain(m *testing.M) {
	ramdisk.Use()
	os.Exit(m.Run())
}

// goRun runs a program in this module, so that its packages are found. Without what debuggers read it is linked in half
// of the time.
func goRun(args ...string) ([]byte, error) {
	return exec.Command("go", append([]string{"run", "-ldflags=-s -w"}, args...)...).CombinedOutput()
}

// TestReadmeExample runs the README's Go program, which is to stay short.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	require.LessOrEqual(t, strings.Count(program[strings.Index(program, "func main"):], "\n"), 22)
	requireOutput(t, string(readme))
}

// The README is a page that one reads to the end.
func TestReadmeIsShort(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile(`<!--.*?-->`).ReplaceAllString(string(readme), "")
	require.LessOrEqual(t, len(strings.Fields(shown)), 900)
}

// The names of Go in llms.txt are those of the packages.
func TestNamesForAssistants(t *testing.T) {
	text, err := os.ReadFile("llms.txt")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/reference/packages.md") // TestReference writes it
	require.NoError(t, err)
	packages := string(page)
	names := regexp.MustCompile(`\b(graph|random|xlabridge|envs|policy|strategy|run)\.([A-Z]\w*)`)
	found := names.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(found), 15)
	for _, m := range found {
		_, section, ok := strings.Cut(packages, "\n\nPackage "+m[1]+": ")
		require.True(t, ok, m[0])
		section, _, _ = strings.Cut(section, "\n## ")
		require.Regexp(t, `(?m)^\s*(func|type|var|const) `+m[2]+`\b`, section, m[0])
	}
	method := regexp.MustCompile("`([A-Z]\\w*)")
	for part, contract := range map[string][]reflect.Type{
		"Environment": {reflect.TypeFor[envs.Environment]()},
		"Policy":      {reflect.TypeFor[policy.Maker](), reflect.TypeFor[policy.Policy]()},
		"Strategy":    {reflect.TypeFor[strategy.Strategy[any, any, any]]()},
		"Algorithm":   {reflect.TypeFor[run.Experiment]()},
	} {
		_, line, _ := strings.Cut(string(text), "\n- "+part+": ")
		line, _, _ = strings.Cut(line, "\n- ")
		line, _, _ = strings.Cut(line, "\n\n")
		methods := method.FindAllStringSubmatch(line, -1)
		require.NotEmpty(t, methods, part)
		for _, m := range methods {
			require.True(t, slices.ContainsFunc(contract, func(c reflect.Type) bool {
				_, ok := c.MethodByName(m[1])
				return ok
			}), "%s has no method %s", part, m[1])
		}
	}
}

// TestSpikingExample runs the program that docs/explanation/spiking.md names.
func TestSpikingExample(t *testing.T) {
	out, err := goRun("./examples/spiking")
	require.NoError(t, err, "%s", out)
	require.Equal(t, "all members tell 9 of 10 trains: true\n", string(out))
}

// TestExtendingExample runs the Go program of docs/how-to/extend.md with the command that stands below it, made short.
func TestExtendingExample(t *testing.T) {
	page, err := os.ReadFile("docs/how-to/extend.md")
	require.NoError(t, err)
	m := regexp.MustCompile("(?s)```go\n(.*?)```.*?```sh\ngo run \\. (.*?)\n```").FindSubmatch(page)
	require.NotNil(t, m, "the page has a block of go, followed by the command that runs it")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, m[1], 0o644))
	args := append([]string{file}, strings.Fields(string(m[2]))...)
	args = append(args, "--backend", "reference", "--policy", "linear", "--pop", "4", "--steps", "9", "--generations",
		"2", "--eval-episodes", "2", "--out", "none")
	out, err := goRun(args...)
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "generation 2: best ever ")
}

// TestTutorial runs the program of the tutorial's first page. The code of the other pages, and of the page on bodies,
// stands in examples/extend, whose own tests run it. Lines left out are the comment "…".
func TestTutorial(t *testing.T) {
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	var files strings.Builder
	names, err := filepath.Glob("examples/extend/*.go")
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files.Write(text)
	}
	pages, err := filepath.Glob("docs/tutorial/[0-9]-*.md")
	require.NoError(t, err)
	require.Len(t, pages, 5)
	left := regexp.MustCompile(`\t*// …\n`)
	for i, name := range append(pages, "docs/how-to/bodies.md") {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		if i == 0 {
			requireOutput(t, string(page))
			continue
		}
		blocks := block.FindAllStringSubmatch(string(page), -1)
		require.NotEmpty(t, blocks, name)
		for _, m := range blocks {
			for _, lines := range left.Split(m[1], -1) {
				require.Contains(t, files.String(), lines, "%s quotes examples/extend", name)
			}
		}
	}
}

// requireOutput runs the first program of a page and compares its output with the block of text below it.
func requireOutput(t *testing.T, page string) {
	t.Helper()
	m := regexp.MustCompile("(?s)```go\n(.*?)```.*?```text\n(.*?)```").FindStringSubmatch(page)
	require.NotNil(t, m, "the page has a block of go, followed by a block of text with its output")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(m[1]), 0o644))
	out, err := goRun(file)
	require.NoError(t, err, "%s", out)
	require.Equal(t, m[2], string(out))
}

// TestTutorialExamples finds each function that the tutorial calls in an example with output, as pkg.go.dev shows it.
// The example is of its package, or of the one above if it has no tests.
func TestTutorialExamples(t *testing.T) {
	pages, err := filepath.Glob("docs/tutorial/[0-9]-*.md")
	require.NoError(t, err)
	sources, err := filepath.Glob("examples/extend/*.go")
	require.NoError(t, err)
	var code strings.Builder // of the tutorial, of which examples/extend has the imports
	folders := map[string]string{}
	for _, name := range append(pages, sources...) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`"xlarun/((?:\w+/)*(\w+))"`).FindAllStringSubmatch(string(text), -1) {
			folders[m[2]] = m[1]
		}
		for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			code.WriteString(m[1])
		}
	}
	functions := map[string]bool{}
	for _, m := range regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)\(`).FindAllStringSubmatch(code.String(), -1) {
		folder := folders[m[1]]
		if folder == "" || functions[m[0]] {
			continue
		}
		functions[m[0]] = true
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, folder+"/example_test.go", nil, parser.ParseComments)
		if err != nil { // a package without tests
			file, err = parser.ParseFile(fset, path.Dir(folder)+"/example_test.go", nil, parser.ParseComments)
			require.NoError(t, err)
		}
		var shown strings.Builder
		for _, e := range doc.Examples(file) {
			if e.Output != "" {
				require.NoError(t, printer.Fprint(&shown, fset, e.Code))
			}
		}
		assert.Contains(t, shown.String(), m[0], "an example of %s", folder)
	}
	require.Greater(t, len(functions), 35)
}
