// Package budget holds what the repository may weigh: packages and modules of the program, test binaries, lines, words
// of documents (budget.toml) and the XLA programs of each test binary (programs.toml). A test of the root folder and
// the tests' own clients compare what is there with it. A commit that needs more changes a number in the open:
//
//	go test . -run Budget -update
//	XLARUN_PROGRAMS=FILE go test ./... && go test . -run Budget -update -programs FILE
package budget

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"xlarun/internal/programs"
)

// Files below the root of the repository.
const (
	File         = "internal/budget/budget.toml"
	ProgramsFile = "internal/budget/programs.toml"
)

// Read reads one of the files into a struct or a map. root is the repository's folder.
func Read(root, file string, into any) error {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err
	}
	if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Check compares a figure with its budget. Rounded up to a multiple of step it may be below it by at most a tenth. what
// says what has how many of what, "graph has %d lines"; update is the command that writes the file.
func Check(what string, got, step, budget int, file, update string) error {
	says := fmt.Sprintf(what, got)
	switch {
	case got > budget:
		return fmt.Errorf("%s, its budget is %d: make room, or raise it in %s and say why in the commit", says, budget,
			file)
	case UpTo(got, step)*10 < budget*9:
		return fmt.Errorf("%s, less than nine tenths of its budget, which is %d: lower it, which `%s` does", says,
			budget, update)
	}
	return nil
}

// UpTo rounds up to a multiple of step.
func UpTo(n, step int) int { return (n + step - 1) / step * step }

// Counted returns the budget of different programs and of the kilobytes of their texts. Both differ a little between
// processors and plugins, so there is some room: a twentieth.
func Counted(t programs.Total) [2]int {
	return [2]int{UpTo(t.Programs+2+t.Programs/20, 5), UpTo(t.Bytes/1000+t.Bytes/20_000+1, 500)}
}

// Budgets is what is in ProgramsFile: by test binary, below the module's path.
type Budgets map[string][2]int

// here is the folder of the module that this process was started in, if it has budgets; else "". The modules gomlx and
// examples/extend have none.
var here = func() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing != nil {
			continue
		}
		if _, missing := os.Stat(filepath.Join(dir, ProgramsFile)); missing == nil {
			return dir
		}
		break
	}
	return ""
}()

var budgets = sync.OnceValues(func() (b Budgets, err error) {
	err = Read(here, ProgramsFile, &b)
	return b, err
})

// Programs compares the programs that this test binary has seen so far with its budget. It does not if more tests than
// those of the short form run, or on another device than the CPU.
func Programs(seen programs.Total) error {
	name, ours := strings.CutPrefix(programs.Binary(), "xlarun/")
	more := false
	flag.Visit(func(f *flag.Flag) {
		more = more || !strings.HasPrefix(f.Name, "test.") || f.Name == "test.bench" || f.Name == "test.fuzz"
	})
	if !ours || here == "" || more || os.Getenv("XLARUN_LONG") != "" || os.Getenv("XLARUN_TEST_BACKEND") != "" {
		return nil
	}
	all, err := budgets()
	if err != nil {
		return err
	}
	for i, unit := range []string{"different XLA programs", "kB of text of XLA programs"} {
		got := []int{seen.Programs, seen.Bytes / 1000}[i]
		if most := all[name][i]; got > most {
			return fmt.Errorf("the tests of %s have %d %s, their budget is %d: use programs that other tests have, or "+
				"smaller ones, or raise it in %s and say why in the commit", name, got, unit, most, ProgramsFile)
		}
	}
	return nil
}
