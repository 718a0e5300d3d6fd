package play

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

var hallPattern = regexp.MustCompile(`^hall-of-fame-[1-9][0-9]{0,3}$`)

// Saved holds the content of a member's file.
type Saved struct {
	Path     string
	Run      string // the run's folder; "" for a file
	Which    string // the member of the run; "" for a file
	Notice   string // a sentence if the member is not the best one; else ""
	Arrays   map[string]*graph.Array
	Metadata map[string]string
}

// Open reads a member from a run's folder or from a file. The run may be in progress. which is "best", "final",
// "hall-of-fame-N", or "", which means the best member, or the mean if there is no best one yet. Errors are usage
// errors.
func Open(path, which string) (*Saved, error) {
	if which != "" && which != run.BestMember && which != run.FinalMember && !hallPattern.MatchString(which) &&
		!cellPattern.MatchString(which) {
		return nil, console.BadInput("--member got %q, wants %s, %s or one of the hall of fame, %s, %s, …%s", which,
			run.BestMember, run.FinalMember, run.HallOfFameMember(1), run.HallOfFameMember(2),
			console.DidYouMean(which, []string{run.BestMember, run.FinalMember, run.HallOfFameMember(1)}))
	}
	if filepath.Base(path) == "config.toml" { // other commands take a run by its config
		path = filepath.Dir(path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, console.BadInput("%s cannot be read (%w): give the folder of a run, or a member's file such as %s",
			path, console.Cause(err), filepath.Join("RUN", run.BestMember+suffix))
	case info.IsDir():
		return openRun(path, which)
	case which != "":
		return nil, console.BadInput("%s is one member's file, so that there is no --member %s to choose: leave it "+
			"out, or give the run's folder", path, which)
	}
	s := &Saved{Path: path}
	return s, s.read()
}

// openRun reads the member of a run.
func openRun(folder, which string) (*Saved, error) {
	if cellPattern.MatchString(which) {
		return openCell(folder, which)
	}
	there := func(name string) bool { return console.Exists(filepath.Join(folder, name)) }
	s := &Saved{Run: folder, Which: which}
	if which == "" {
		s.Which = run.BestMember
		if !there(run.BestMember+suffix) && there(run.FinalMember+suffix) {
			s.Which, s.Notice = run.FinalMember, "the run has judged no best member yet: this is its final one"
		}
	}
	s.Path = filepath.Join(folder, s.Which+suffix)
	if there(s.Which + suffix) {
		return s, s.read()
	}
	var others []string
	for i := 1; there(run.HallOfFameMember(i) + suffix); i++ {
		others = append(others, run.HallOfFameMember(i))
	}
	for _, other := range []string{run.FinalMember, run.BestMember} {
		if there(other + suffix) {
			others = append([]string{other}, others...)
		}
	}
	if len(others) > 0 {
		return nil, console.BadInput("the run %s has no member %s; it has %s: leave --member out", folder, s.Which,
			strings.Join(others, ", "))
	}
	if there("config.toml") {
		return nil, console.BadInput("the run %s has saved no member yet: wait for its first checkpoint", folder)
	}
	return nil, console.BadInput("%s is no run's folder, as it has neither %s%s nor config.toml", folder,
		run.BestMember, suffix)
}

// read reads the file.
func (s *Saved) read() error {
	if info, err := os.Stat(s.Path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return console.BadInput("%s is no file", s.Path)
	}
	f, _ := formatOf(s.Path)
	if f.read == nil {
		return s.readArrays()
	}
	return f.read(s)
}

// readArrays reads a safetensors file, whatever its name.
func (s *Saved) readArrays() error {
	file, err := safetensors.Open(s.Path)
	if errors.As(err, new(*fs.PathError)) {
		return console.BadInput("%s cannot be read (%w)", s.Path, console.Cause(err))
	}
	if err != nil {
		return console.UsageError{Err: err} // which names the file
	}
	defer func() { _ = file.Close() }()
	if err := file.CheckDigest(); err != nil {
		return console.UsageError{Err: err}
	}
	s.Metadata = maps.Clone(file.Metadata())
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
	s.Arrays = map[string]*graph.Array{}
	for _, name := range file.Names() {
		if s.Arrays[name], err = file.Array(name); err != nil {
			return console.UsageError{Err: err}
		}
	}
	return nil
}

// bare returns the path of a member's file without its ending.
func (s *Saved) bare() string {
	f, _ := formatOf(s.Path)
	return strings.TrimSuffix(s.Path, f.suffix)
}

// Acts reports whether the member acts in an environment.
func (s *Saved) Acts() bool { return s.Metadata["env"] != "" }

// Member returns the member with its policy and environment.
func (s *Saved) Member() (*episode.Member, error) {
	kind := s.Metadata["kind"]
	switch {
	case strings.HasSuffix(s.Metadata["format"], "checkpoint"):
		return nil, console.BadInput("%s is a checkpoint, the state of a whole run: give the run's folder", s.Path)
	case s.Metadata["format"] == exportFormat && s.Metadata["format_version"] != exportVersion:
		return nil, console.BadInput("%s has the format_version %q of an %s, want %q: another version of xlarun wrote "+
			"it", s.Path, s.Metadata["format_version"], exportFormat, exportVersion)
	case !s.Acts() && kind != "":
		return nil, console.BadInput("%s is a member of a run of %s, which acts in no environment and so cannot be "+
			"played; xlarun export writes it for other programs", s.Path, kind)
	}
	if what, by := s.ofAnother(); what != "" {
		return nil, console.BadInput("%s: this program has no %s. %s, the program that made it, may have it: give the "+
			"command to that one (go run . in its folder)", s.Path, what, by)
	}
	m, err := episode.Restore(s.Arrays, s.Metadata)
	if err != nil {
		return nil, console.BadInput("%s: %w", s.Path, err)
	}
	return m, nil
}

// ofAnother returns the environment or the policy that this program does not have, and the user's own program that made
// the member; both are "" for other members.
func (s *Saved) ofAnother() (what, by string) {
	_, by, own := strings.Cut(s.Metadata["xlarun"], " in ") // console.Version
	by, _, _ = strings.Cut(by, "+")                         // its commit
	env, name := s.Metadata["env"], settings.Choice(s.Metadata["policy"])
	if _, _, opens := envs.SchemeOf(env); own && !opens && !slices.Contains(envs.IDs(), env) {
		return "environment " + env, by
	}
	if own && !slices.Contains(policy.Names(), name) {
		return "policy " + name, by
	}
	return "", ""
}

// network returns the member's policy and its parameters, without the distribution that actions are drawn from.
func (s *Saved) network() (params any, net policy.Policy, err error) {
	m, err := s.Member()
	if err != nil {
		return nil, nil, err
	}
	if d, ok := m.Params.(policy.Distributed); ok {
		return d.Own, m.Policy.(*policy.Sampling).Inner, nil
	}
	return m.Params, m.Policy, nil
}

// setParams sets the arrays to those of a tree of parameters.
func (s *Saved) setParams(params any) {
	s.Arrays = map[string]*graph.Array{}
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		s.Arrays[safetensors.Name(tree.Path(i))] = a
	}
}

// freshSeed returns a seed of episodes that the run has not played: the run's seed plus one.
func (s *Saved) freshSeed() int64 {
	seed, _ := strconv.ParseInt(s.Metadata["seed"], 10, 64) // 0 if the file has none
	return seed + 1
}

// Unit returns the run's unit and the count of units when the member was saved: "generation", "42". Both are "" if they
// are not known.
func (s *Saved) Unit() (unit, count string) {
	kind, ok := run.Lookup(s.Metadata["kind"])
	if !ok {
		return "", ""
	}
	return kind.Unit, s.Metadata[kind.Unit]
}

// String describes the member: "best member of runs/x (best ever), generation 42".
func (s *Saved) String() string {
	text := "member of " + s.Path
	if s.Run != "" {
		text = s.Which + " member of " + s.Run
	}
	if name := s.Metadata["member"]; name != "" && name != s.Which {
		name = strings.ReplaceAll(name, "_", " ")
		if _, err := strconv.Atoi(name); err == nil { // its place in the population
			name = "member " + name
		}
		text += " (" + name + ")"
	}
	if unit, count := s.Unit(); count != "" {
		text += ", " + unit + " " + count
	}
	return text
}

// names returns the sorted names of the arrays.
func (s *Saved) names() []string { return slices.Sorted(maps.Keys(s.Arrays)) }
