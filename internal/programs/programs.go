// Package programs notes which XLA programs a test binary and the processes that it starts compile or take from the
// cache. If XLARUN_PROGRAMS names a file, they append a line for each program of a test to it, with tabs between
//
//   - the test binary, such as xlarun/rollout/evolve,
//   - the test, or the command line of a process that it started,
//   - the program's name,
//   - the length of its text in bytes,
//   - a digest of its text and options,
//   - "compiled" or "cached".
package programs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// Env names the file that processes append to.
const Env = "XLARUN_PROGRAMS"

// record holds what this process has seen.
var record = struct {
	sync.Mutex
	lengths map[string]int  // of programs' texts, by digest
	lines   map[string]bool // with the file before them
}{lengths: map[string]int{}, lines: map[string]bool{}}

// Total counts different programs.
type Total struct {
	Programs int
	Bytes    int // of their texts
}

// Seen returns the programs that this process has seen.
func Seen() Total {
	record.Lock()
	defer record.Unlock()
	return totalOf(record.lengths)
}

func totalOf(lengths map[string]int) (t Total) {
	for _, n := range lengths {
		t.Programs, t.Bytes = t.Programs+1, t.Bytes+n
	}
	return t
}

// Read returns the programs of each test binary and of its processes, which the lines of a file list.
func Read(file string) (map[string]Total, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lengths := map[string]map[string]int{} // by binary and digest
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			return nil, fmt.Errorf("%s: got the line %q, want 6 fields", file, line)
		}
		if lengths[f[0]] == nil {
			lengths[f[0]] = map[string]int{}
		}
		if lengths[f[0]][f[4]], err = strconv.Atoi(f[3]); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	totals := map[string]Total{}
	for binary, of := range lengths {
		totals[binary] = totalOf(of)
	}
	return totals, nil
}

// Observe notes a program that a client compiled, or took from its cache.
func Observe(name, text, options string, compiled bool) {
	sum := sha256.Sum256([]byte(text + "\n" + options))
	digest, file := fmt.Sprintf("%.6x", sum), os.Getenv(Env)
	record.Lock()
	defer record.Unlock()
	record.lengths[digest] = len(text)
	if file == "" {
		return
	}
	from := "cached"
	if compiled {
		from = "compiled"
	}
	line := fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s\n", Binary(), running(), name, len(text), digest, from)
	if record.lines[file+line] {
		return
	}
	record.lines[file+line] = true
	if err := appendTo(file, line); err != nil {
		panic(fmt.Sprintf("programs: %s: %v", Env, err))
	}
}

func appendTo(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return cmp.Or(err, f.Close())
}

// Binary returns the path of the package whose tests this process has.
func Binary() string {
	name := filepath.Base(os.Args[0])
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		name = info.Path
	}
	return strings.TrimSuffix(name, ".test")
}

// running returns the name of the test that runs: of the one that this goroutine belongs to, or else of any. In a
// process that a test started it is the command line.
func running() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	frame := regexp.MustCompile(`(?m)^\S+?\.((?:Test|Example|Benchmark|Fuzz)\w*)(?:\.func|\()`)
	for _, m := range frame.FindAllSubmatch(stacks, -1) {
		if !bytes.Equal(m[1], []byte("TestMain")) {
			return string(m[1])
		}
	}
	return strings.Join(strings.Fields(strings.Join(os.Args[1:], " ")), " ")
}
