package xlarun_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"xlarun/cmd/xlarun/cli"
	"xlarun/rollout/run"
)

// missing is a plugin that does not exist: commands that get it check all settings, and end before they compute.
const missing = "/no/such/plugin.so"

// TestDocumentedCommands checks the commands in code blocks and code spans of all documents: those of xlarun have known
// flags with values that are accepted, and what go run, go test and go doc name exists.
func TestDocumentedCommands(t *testing.T) {
	documents := documents(t)
	tests := testNames(t)
	checkout, err := filepath.Abs(".")
	require.NoError(t, err)
	t.Chdir(t.TempDir()) // a command that ran after all leaves nothing in the checkout
	require.NoError(t, os.Symlink(filepath.Join(checkout, "examples"), "examples"))
	checked := map[string]int{} // commands of each program; many stand on several pages
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if referencePages[name] != nil {
			continue // made of the commands themselves
		}
		for _, c := range commandsOf(t, name, documents[name]) {
			line := strings.Join(c, " ")
			if known[line] {
				continue
			}
			known[line] = true
			var err error
			switch {
			case c[0] == "xlarun" && len(c) > 1 && isRemoved(c[1:]):
				if !strings.HasPrefix(name, "docs/notes/") || !unrepeatable.MatchString(documents[name]) {
					err = errors.New("there is no such command: only a note may have it, and says in its first line " +
						"that it cannot be repeated")
				}
			case c[0] == "xlarun" && len(c) > 1:
				err = checkCommand(c[1:])
			case c[0] == "go" && len(c) > 2 && c[1] == "test":
				err = checkTests(checkout, c[2:], tests)
			case c[0] == "go" && len(c) > 2 && c[1] == "doc":
				err = checkDoc(checkout, c[2:])
			default:
				continue
			}
			checked[c[0]]++
			if err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
	require.Greater(t, checked["xlarun"], 100)
	require.Greater(t, checked["go"], 20)
}

// documents returns the texts of all documents of the repository, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z", "*.md").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		all[name] = string(text)
	}
	return all
}

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	codeSpan   = regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*(?:xlarun|go) [^`]+)`")
)

// commandsOf returns the commands in a document's blocks of shell and in its code spans. The name of a program has no
// folder: xlarun is also ./xlarun and go run ./cmd/xlarun.
func commandsOf(t *testing.T, name, text string) (all [][]string) {
	t.Helper()
	parse := func(script string) {
		file, err := syntax.NewParser().Parse(strings.NewReader(script), name)
		require.NoError(t, err, "%s has a block of shell that does not parse:\n%s", name, script)
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			var words []string
			for _, w := range call.Args {
				words = append(words, literal(w.Parts))
			}
			if i := slices.Index(words, "--"); words[0] == "kubectl" && i >= 0 {
				words = words[i+1:]
			} else if i := slices.Index(words, "xlarun"); words[0] == "podman" && words[1] == "run" && i >= 0 {
				words = words[i:]
			} else if len(words) > 2 && words[0] == "go" && words[1] == "run" && strings.HasPrefix(words[2], "./cmd/") {
				words = words[2:]
			} else if words[0] == "exec" && len(words) > 1 {
				words = words[1:]
			}
			words[0] = filepath.Base(words[0])
			all = append(all, words)
			return true
		})
	}
	for _, m := range shellBlock.FindAllStringSubmatch(text, -1) {
		parse(m[1])
	}
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		parse(strings.Join(strings.Fields(m[1]), " "))
	}
	return all
}

// literal is the text of a word without its quotes. What the shell would fill in stays out.
func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(p.Parts))
		default:
			b.WriteString("1")
		}
	}
	return b.String()
}

// removed are commands of earlier commits. Notes on what they measured have them.
var removed = []string{"bench crossover", "bench odd", "bench ppo-ladder", "bench ppo-logging"}

// unrepeatable is the beginning of a note on what cannot be measured again.
var unrepeatable = regexp.MustCompile(`\A# .*\n\n.*[Cc]annot be repeated`)

func isRemoved(args []string) bool {
	return slices.Contains(removed, strings.Join(args[:min(2, len(args))], " "))
}

// checkCommand parses a command line of xlarun. One that makes an experiment is started, too, with a plugin that does
// not exist: then all settings are checked.
func checkCommand(args []string) error {
	if args[0] == "member" { // the format of members' files
		return nil
	}
	if i := slices.Index(args, "…"); i > 0 && strings.HasPrefix(args[i-1], "--") { // a value that is left out
		args = slices.Delete(slices.Clone(args), i-1, i+1)
	} else if i >= 0 {
		args = slices.Delete(slices.Clone(args), i, i+1)
	}
	_, experiment := run.Lookup(args[0])
	experiment = (experiment || args[0] == "profile" || args[0] == "inspect") && args[min(1, len(args)-1)] != "play"
	if !experiment || slices.Contains(args, "--help") || slices.ContainsFunc(args, isPlaceholder) {
		return parse(args)
	}
	var stderr bytes.Buffer
	status := cli.Run(context.Background(), append(slices.Clone(args), "--plugin", missing), cli.Streams{
		Out: io.Discard, Err: &stderr, Env: os.Getenv})
	if why := stderr.String(); status == cli.StatusOK || strings.Contains(why, missing) ||
		strings.Contains(why, "no such file or directory") || strings.Contains(why, "there is no such") {
		return parse(args) // the plugin, or a file of the reader's
	}
	return errors.New(strings.TrimSpace(stderr.String()))
}

var root = sync.OnceValue(cli.Root)

// parse finds the command of a command line and parses its flags. Of a benchmark it checks the names of workloads, too.
func parse(args []string) error {
	args = slices.Clone(args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "--") {
			args[i] = strings.ReplaceAll(arg, "_", "-")
		}
	}
	c, rest, err := root().Find(args)
	if err != nil {
		return err
	}
	if c == root() || c.HasAvailableSubCommands() && len(rest) > 0 && len(ownFlags(c)) == 0 {
		return fmt.Errorf("there is no command %s", args[0])
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil || len(c.ValidArgs) == 0 || slices.Contains(args, "--against") {
		return err
	}
	for _, arg := range c.Flags().Args() {
		if !slices.Contains(c.ValidArgs, arg) && !isPlaceholder(arg) {
			return fmt.Errorf("there is no %q, there are %s", arg, strings.Join(c.ValidArgs, ", "))
		}
	}
	return nil
}

// isPlaceholder reports whether an argument stands for what a reader puts there, or names what another program has.
func isPlaceholder(arg string) bool {
	return regexp.MustCompile(`^[A-Z]+$|/[A-Z]+$|^exec:|^--from-study`).MatchString(arg)
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)`)

// testNames returns the names of tests, benchmarks and fuzz targets by their folder.
func testNames(t *testing.T) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names[filepath.Dir(path)] = append(names[filepath.Dir(path)], m[1])
		}
		return err
	}))
	return names
}

// checkTests checks that the folders of a go test command exist, and have what its flags name.
func checkTests(checkout string, args []string, tests map[string][]string) error {
	var here []string
	for _, arg := range args {
		if arg != "." && !strings.HasPrefix(arg, "./") {
			continue
		}
		folder, below := strings.CutSuffix(filepath.Clean(arg), "/...")
		if info, err := os.Stat(filepath.Join(checkout, folder)); folder != "..." && (err != nil || !info.IsDir()) {
			return fmt.Errorf("there is no folder %s", folder)
		}
		for of, names := range tests {
			if of == folder || folder == "..." || below && strings.HasPrefix(of, folder+"/") {
				here = append(here, names...)
			}
		}
	}
	for i, flag := range args[:len(args)-1] {
		pattern, _, _ := strings.Cut(args[i+1], "/")
		if !slices.Contains([]string{"-run", "-bench", "-fuzz"}, flag) || pattern == "XXX" || isPlaceholder(pattern) {
			continue
		}
		wanted, err := regexp.Compile(pattern)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(here, wanted.MatchString) {
			return fmt.Errorf("no test there has a name like %s", pattern)
		}
	}
	return nil
}

// checkDoc checks that go doc finds what it is asked for.
func checkDoc(checkout string, args []string) error {
	args = append([]string{"doc"}, args...)
	args[1] = strings.Replace(args[1], "xlarun/", "./", 1)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = checkout, append(os.Environ(), "GO111MODULE=off") // else it starts go list
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestCheckDoc(t *testing.T) {
	require.NoError(t, checkDoc(".", []string{"xlarun/rollout/evolve", "Config.With"}))
	for _, symbol := range []string{"Config.ctx", "hosted.alone", "DefaultConfig.With"} {
		require.Error(t, checkDoc(".", []string{"xlarun/rollout/evolve." + symbol}), symbol)
	}
}

// TestGoOfDocuments checks that the Go of documents is formatted. The page of packages has what go doc writes.
func TestGoOfDocuments(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	checked := 0
	for name, text := range documents(t) {
		if name == "docs/reference/packages.md" {
			continue
		}
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			checked++
			formatted, err := format.Source([]byte(m[1]))
			require.NoError(t, err, "%s:\n%s", name, m[1])
			assert.Equal(t, string(formatted), m[1], name)
		}
	}
	require.Greater(t, checked, 30)
}

// TestLinksOfDocuments checks that the files and headings that documents link to exist.
func TestLinksOfDocuments(t *testing.T) {
	code := regexp.MustCompile("(?s)```.*?```|`[^`]*`")
	link := regexp.MustCompile(`\]\(([^)#]*)#?([^)]*)\)`)
	checked := 0
	for name, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			file, heading := filepath.Join(filepath.Dir(name), m[1]), m[2]
			if m[1] == "" {
				file = name
			}
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			_, err := os.Stat(file)
			require.NoError(t, err, "%s links to %s", name, m[1])
			if heading != "" {
				require.Contains(t, anchors(t, file), heading, "%s links to a heading of %s", name, file)
			}
		}
	}
	require.Greater(t, checked, 30)
}

var (
	fileSpan = regexp.MustCompile("`((?:\\w+/)+[\\w.-]+\\.(?:go|py|toml|c|h|md|sh|ipynb))`")
	testSpan = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z]\\w*)`")
)

// TestNamesInDocuments checks that the files of the repository and the tests that code spans name exist.
func TestNamesInDocuments(t *testing.T) {
	tests := slices.Concat(slices.Collect(maps.Values(testNames(t)))...)
	files, names := 0, 0
	for name, text := range documents(t) {
		for _, m := range fileSpan.FindAllStringSubmatch(text, -1) {
			folder, _, _ := strings.Cut(m[1], "/")
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue // of a run, or of a reader
			}
			files++
			_, err := os.Stat(m[1])
			assert.NoError(t, err, "%s names a file", name)
		}
		for _, m := range testSpan.FindAllStringSubmatch(text, -1) {
			names++
			assert.True(t, slices.Contains(tests, m[1]), "%s names the test %s, which does not exist", name, m[1])
		}
	}
	require.Greater(t, files, 30)
	require.Greater(t, names, 10)
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) (all []string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		all = append(all, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}
