// Plant breaks the code in one place at a time and shows which tests notice. The places are the rows of faults.toml. No
// file is changed: the go command reads the broken text by its flag -overlay, and so do builds that tests start.
//
//	go run ./internal/plant                # all rows, the short form of the tests
//	go run ./internal/plant gae 12         # rows whose name contains "gae", and row 12
//	go run ./internal/plant -long          # what the short form does not notice, the long form should
//
// It prints a row of a Markdown table for each fault. The exit status is 1 if a fault does not compile, if the short
// form missed more than one of ten, or if the long form missed one.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed faults.toml
var table []byte

// fault is a place where the code is broken.
type fault struct {
	Name     string
	File     string   // below the root of the repository
	Old, New string   // Old occurs once in the file
	Packages []string // whose tests are run: folders below the root
}

// faults returns the rows of a table.
func faults(table []byte) ([]fault, error) {
	var t struct{ Fault []fault }
	d := toml.NewDecoder(strings.NewReader(string(table))).DisallowUnknownFields()
	return t.Fault, d.Decode(&t)
}

// broken returns the text of the fault's file with the fault.
func (f fault) broken(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	if n := strings.Count(string(text), f.Old); n != 1 || f.Old == f.New {
		return "", fmt.Errorf("%s: old occurs %d times in %s, want once, and new must be another text: correct the row",
			f.Name, n, f.File)
	}
	return strings.Replace(string(text), f.Old, f.New, 1), nil
}

// result says what the tests said to a fault.
type result struct {
	builds bool
	failed []string // tests, or packages that ended without a test that failed
}

// run runs the tests of the fault's packages.
func (f fault) run(root string, long bool) (r result, err error) {
	text, err := f.broken(root)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "plant")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, filepath.Base(f.File)), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, f.File): file}})
	if err != nil {
		return r, err
	}
	if err := cmp.Or(os.WriteFile(file, []byte(text), 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		return r, err
	}
	timeout := "4m" // a test may wait for ever
	if long {
		timeout = "60m"
	}
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=" + timeout}
	for _, p := range f.Packages {
		args = append(args, "./"+p)
	}
	flags, err := exec.Command("go", "env", "GOFLAGS").Output() // they may stand in a file
	if err != nil {
		return r, err
	}
	c := exec.Command("go", args...)
	c.Dir, c.Stderr = root, os.Stderr
	c.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(string(flags))+" -overlay="+overlay, "XLARUN_LONG=")
	if long {
		c.Env = append(c.Env, "XLARUN_LONG=1")
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return r, err
	}
	r.builds = true
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output, FailedBuild string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Action == "build-output" {
			fmt.Fprint(os.Stderr, e.Output)
		}
		if e.Action != "fail" || strings.Contains(e.Test, "/") {
			continue
		}
		r.builds = r.builds && e.FailedBuild == ""
		inside := func(name string) bool { return strings.HasPrefix(name, e.Package+" ") }
		if name := e.Package + " " + e.Test; e.Test != "" || !slices.ContainsFunc(r.failed, inside) {
			r.failed = append(r.failed, name)
		}
	}
	if err := lines.Err(); err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		return r, fmt.Errorf("%s: read what go test prints: %w", f.Name, err)
	}
	if err := c.Wait(); (err != nil) != (len(r.failed) > 0) {
		return r, fmt.Errorf("%s: go test: %w, and %d tests failed", f.Name, err, len(r.failed))
	}
	return r, nil
}

// noticed is the table's last column.
func (r result) noticed() string {
	if !r.builds {
		return "**does not compile**"
	}
	var names []string
	for _, f := range r.failed {
		pkg, test, _ := strings.Cut(f, " ")
		names = append(names, "`"+cmp.Or(test, pkg)+"`")
	}
	if len(names) > 4 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return cmp.Or(strings.Join(names, ", "), "**nothing**")
}

// wanted reports whether arguments name a row, by a part of its name or its number from 1 on.
func wanted(f fault, number int, args []string) bool {
	return len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool {
		if n, err := strconv.Atoi(arg); err == nil {
			return n == number
		}
		return strings.Contains(strings.ToLower(f.Name), strings.ToLower(arg))
	})
}

func main() {
	long := flag.Bool("long", false, "run the long form (XLARUN_LONG=1) where the short form notices nothing")
	flag.Parse()
	if err := plantAll(*long, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "plant:", err)
		os.Exit(1)
	}
}

func plantAll(long bool, args []string) error {
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	all, err := faults(table)
	if err != nil {
		return err
	}
	planted, noticed, later, wrong := 0, 0, 0, 0 // later: by the long form alone
	for i, f := range all {
		if !wanted(f, i+1, args) {
			continue
		}
		if planted == 0 {
			fmt.Println("| | what is broken | where | noticed by |\n| --- | --- | --- | --- |")
		}
		root := strings.TrimSpace(string(root))
		r, err := f.run(root, false)
		by := r.noticed()
		switch planted++; {
		case err != nil:
			return err
		case !r.builds:
			wrong++
		case len(r.failed) > 0:
			noticed++
		case long:
			if r, err = f.run(root, true); err != nil {
				return err
			}
			if by = r.noticed(); len(r.failed) > 0 {
				by, later = by+" (long form)", later+1
			}
		}
		fmt.Printf("| %d | %s | `%s` | %s |\n", i+1, f.Name, f.File, by)
	}
	if planted == 0 {
		return fmt.Errorf("no fault is called %s: name one of the %d by its number or a part of its name",
			strings.Join(args, " or "), len(all))
	}
	summary := fmt.Sprintf("of %d faults the short form notices %d, the long form %d more; %d do not compile", planted,
		noticed, later, wrong)
	missed := planted - noticed - wrong
	if wrong > 0 || long && missed > later || missed > len(all)/10 {
		return fmt.Errorf("%s", summary)
	}
	fmt.Println("\n" + summary)
	return nil
}
