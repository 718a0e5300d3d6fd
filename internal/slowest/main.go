// Slowest reads what `go test -json` prints. It shows the output of tests that failed, a line for each package and, at
// the end, the tests that took longest:
//
//	go test -json ./... | go run ./internal/slowest -n 20
//
// The exit status is 1 if a test or a build failed, or if no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is a line of `go test -json`; `go doc cmd/test2json` describes the fields.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// timing is the duration of a top-level test.
type timing struct {
	name    string
	seconds float64
}

// report holds the results of all tests.
type report struct {
	timings []timing
	failed  []string // tests, packages and builds
}

// read copies the lines of packages, and the output of failed tests, to out.
func read(in io.Reader, out io.Writer) (report, error) {
	var r report
	output := map[string][]string{} // of running tests
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadString('\n')
		if text != "" {
			var e event
			if json.Unmarshal([]byte(text), &e) != nil {
				fmt.Fprint(out, text) // such as a message of the build
				continue
			}
			r.add(e, output, out)
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return r, err
		}
	}
}

func (r *report) add(e event, output map[string][]string, out io.Writer) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		switch {
		case e.Test != "":
			output[name] = append(output[name], e.Output)
		case e.Output != "PASS\n":
			fmt.Fprint(out, e.Output)
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.addUnfinished(e, output, out)
		}
		if e.Action == "fail" {
			r.failed = append(r.failed, strings.TrimSpace(name))
			fmt.Fprint(out, strings.Join(output[name], ""))
		}
		delete(output, name)
		if e.Test != "" && !strings.Contains(e.Test, "/") && e.Action != "skip" {
			r.timings = append(r.timings, timing{name, e.Elapsed})
		}
	case "build-fail":
		r.failed = append(r.failed, "a build")
	}
}

// addUnfinished adds the tests of a package that began but did not end, because the package ran into its time limit or
// its process died. They have no event of their own.
func (r *report) addUnfinished(e event, output map[string][]string, out io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(output)) {
		if strings.HasPrefix(name, e.Package+" ") {
			r.failed = append(r.failed, name+" (did not end)")
			fmt.Fprint(out, strings.Join(output[name], ""))
			delete(output, name)
		}
	}
}

// print writes the n slowest tests and the failures.
func (r report) print(out io.Writer, n int) {
	slices.SortStableFunc(r.timings, func(a, b timing) int { return int(1000 * (b.seconds - a.seconds)) })
	var total float64
	for _, t := range r.timings {
		total += t.seconds
	}
	n = min(n, len(r.timings))
	fmt.Fprintf(out, "\nthe slowest %d of %d tests, which took %.0f s together:\n", n, len(r.timings), total)
	for _, t := range r.timings[:n] {
		fmt.Fprintf(out, "%7.1f s  %s\n", t.seconds, t.name)
	}
	if len(r.failed) > 0 {
		fmt.Fprintf(out, "\nFAIL: %s\n", strings.Join(r.failed, ", "))
	}
}

func main() {
	n := flag.Int("n", 20, "how many of the slowest tests to list")
	flag.Parse()
	r, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
	r.print(os.Stdout, *n)
	if len(r.failed) > 0 || len(r.timings) == 0 {
		os.Exit(1)
	}
}
