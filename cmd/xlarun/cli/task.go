package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play"
	"xlarun/envs"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// task is an experiment with all its settings, from the command line, a file and the defaults. They are checked.
type task struct {
	run.Kind
	run.Experiment
	job     *run.Job // of these settings; see changed
	session sessionSettings
	cadence session.Cadence
	ends    session.Ends
	// unlimited says that the run has no length of its own: one of ends ends it. Its config leaves the length out.
	unlimited bool
	source    string         // the argument on the command line
	flags     *flagValues    // those of the command line
	given     origins        // the settings that are not the defaults
	path      string         // of the config file; "": there is none
	text      string         // the config file that repeats the task
	stored    map[string]any // the settings of the run that it goes on with
	notices   []string       // about the source of its settings
	topology  string         // devices that it is compiled for without having them; "": it runs
}

// changed makes the job anew after settings of the experiment were set, unless err is that of setting them.
func (t *task) changed(err error) error {
	if err == nil {
		t.job = t.JobOf(t.Experiment)
	}
	return err
}

// on returns the flags of its backend.
func (t *task) on() console.BackendFlags {
	on := t.session.flags(t.On())
	on.Topology = t.topology
	return on
}

// programs returns a text that is equal for tasks that need the same programs.
func (t *task) programs() string {
	text := t.Name + " "
	if p := t.job.Play; p != nil {
		text += fmt.Sprintf("eval-episodes=%d ", p.EvalEpisodes)
	}
	return text + t.job.Programs
}

// defaultKind is the kind if neither the argument nor the file names one.
const defaultKind = "evolve"

// experiments groups the arguments of a command on experiments, each group one experiment: a config file (a name that
// ends in .toml, or a file that exists), the folder of a run, an environment, the name of a kind of run, or a kind and
// one of the others. A kind holds for all environments and files after it, except files of another kind.
func experiments(args []string) (groups [][]string) {
	kind, alone := "", false // alone: the kind has nothing after it
	end := func() {
		if alone {
			groups = append(groups, []string{kind})
		}
		kind, alone = "", false
	}
	for _, arg := range args {
		_, file := configOf(arg)
		_, named := run.Lookup(arg)
		switch {
		case named && !file:
			end()
			kind, alone = arg, true
		case kind != "" && ofKind(kind, arg):
			groups = append(groups, []string{kind, arg})
			alone = false
		default:
			end()
			groups = append(groups, []string{arg})
		}
	}
	end()
	return groups
}

// ofKind reports whether a kind that stands before an argument holds for it.
func ofKind(name, arg string) bool {
	path, file := configOf(arg)
	if !file {
		kind, _ := run.Lookup(name)
		return kind.Argument != ""
	}
	c, err := readConfig(path)
	if err != nil {
		return true
	}
	of, err := c.kind()
	return err != nil || of == "" || of == name
}

// readTask resolves one of experiments, or the default one: without arguments. The flags of the command line apply.
func (g *flagValues) readTask(args ...string) (*task, error) {
	arg := ""
	if n := len(args); n > 0 {
		arg = args[n-1]
	}
	file, arg, err := g.splitArgument(arg)
	if err != nil {
		return nil, err
	}
	kind, named := run.Lookup(arg)
	switch {
	case len(args) == 2:
		kind, named = run.Lookup(args[0])
	case named:
		arg = ""
	default:
		kind, _ = run.Lookup(defaultKind)
	}
	if file != "" {
		words := "--config"
		if file != g.own.file {
			words = "the config"
		}
		c, err := readConfigAs(words, file)
		if err != nil {
			return nil, err
		}
		of, err := c.kind()
		if err != nil {
			return nil, err
		}
		if named && of != "" && of != kind.Name {
			return nil, console.BadInput("%s is a config of %s, not of %s", file, of, kind.Name)
		}
		if of != "" {
			kind, _ = run.Lookup(of)
		}
		return g.resolve(kind, arg, c)
	}
	return g.resolve(kind, arg, nil)
}

// splitArgument returns the config file, of --config or the argument, and the argument unless it is that file.
func (g *flagValues) splitArgument(arg string) (file, rest string, err error) {
	path, ok := configOf(arg)
	switch {
	case !ok:
		return g.own.file, arg, nil
	case g.own.file != "":
		return "", "", console.BadInput("got the config file %s and --config %s: give one of them", path, g.own.file)
	}
	return path, "", nil
}

// configOf returns the config file that an argument means: the argument, or the file in a run's folder.
func configOf(arg string) (path string, ok bool) {
	if strings.HasSuffix(arg, ".toml") {
		return arg, true
	}
	info, err := os.Stat(arg)
	if err != nil || arg == "" {
		return "", false
	}
	if info.IsDir() {
		path = filepath.Join(arg, "config.toml")
		_, err = os.Stat(path)
		return path, err == nil
	}
	return arg, true
}

// resolve collects the settings: the defaults, then the file, then the command line and the argument. It checks
// everything that can be checked before a backend is opened or data is read.
func (g *flagValues) resolve(kind run.Kind, arg string, file *configFile) (*task, error) {
	play.Allow(g.values["env"]) // commands on the command line are run, those in a file are not
	if kind.Argument == "env" {
		play.Allow(arg)
	}
	t := &task{Kind: kind, Experiment: kind.New(), session: defaultSessionSettings(), source: arg, flags: g,
		topology: g.own.topology, given: origins{}}
	t.job = t.JobOf(t.Experiment)
	if file != nil {
		if err := file.checkKind(kind); err != nil {
			return nil, err
		}
		t.path = file.path
		t.source = cmp.Or(t.source, t.path)
	}
	err := g.collect(t, arg, file)
	if err == nil {
		err = g.finish(t)
	}
	if err != nil {
		if reason := t.noArgument(arg, err); reason != nil {
			return nil, reason
		}
		return nil, t.named(err)
	}
	return t, nil
}

// noArgument returns the error of an argument that is neither an environment, nor a file, nor a run's folder; nil if
// err is another one.
func (t *task) noArgument(arg string, err error) error {
	e, ok := asSetting(err)
	if arg == "" || t.Argument != "env" || !ok || e.Key != "env" || slices.Contains(envs.IDs(), arg) {
		return nil
	}
	if _, _, scheme := envs.SchemeOf(arg); scheme {
		return nil
	}
	text := "no environment, no config file and no folder of a run"
	if info, err := os.Stat(arg); err == nil && info.IsDir() {
		text = "a folder without a config.toml, so no folder of a run, and no environment"
	}
	if near := envs.Nearest(arg, envs.IDs()); near != "" {
		text += ", did you mean " + near + "?"
	}
	if _, ok := settings.Lookup(t.Experiment, "island"); ok && strings.HasPrefix(strings.ToLower(arg), "island") {
		text += "; a run is one of several islands by --island NAME with --migration-dir or --join"
	}
	return console.BadInput("%q is %s; xlarun help environments lists the environments", arg, text)
}

// collect sets the settings that are given: in the file, by the experiment's suggestions, and on the command line.
func (g *flagValues) collect(t *task, arg string, file *configFile) error {
	var stored map[string]any
	if file != nil {
		stored = file.values
	}
	t.given.all(stored, byFile)
	for name, text := range g.values {
		t.given[name] = given{text, byFlag}
	}
	if arg != "" {
		if t.Argument == "" {
			return console.BadInput("got the argument %q, wants none", arg)
		}
		if text, ok := g.values[t.Argument]; ok && text != arg {
			return console.BadInput("got the argument %s and --%s %s: give one of them", arg, t.Argument, text)
		}
		t.given[t.Argument] = given{arg, byFlag}
	}
	if err := t.checkUntrusted(g.resumed != ""); err != nil {
		return err
	}
	if _, complete := fileHead(file)[formatKey]; !complete { // the config of a run has all settings
		if err := t.suggest(); err != nil {
			return err
		}
	}
	if err := t.gather(stored); err != nil {
		return err
	}
	if err := t.changed(t.apply(t.given)); err != nil {
		return err
	}
	if err := g.dropIdle(t); err != nil {
		return err
	}
	return g.idle(t.Experiment)
}

// finish checks the settings, and keeps what files outside of the config say.
func (g *flagValues) finish(t *task) (err error) {
	backend := t.given["backend"].from
	if t.cadence, err = t.session.check(backend == byFlag || backend != byDefault && t.session.JIT); err != nil {
		return err
	}
	if t.ends, err = t.session.ends(); err != nil {
		return err
	}
	if t.given[t.Length].from == byDefault {
		if err := t.lift(); err != nil {
			return err
		}
	}
	if err := t.changed(run.KeepToOneDevice(t.Experiment)); err != nil {
		return err
	}
	on := t.on()
	if err := on.Check(); err != nil {
		return t.backendError(err)
	}
	if g.opening != nil {
		g.opening(on)
	}
	resumes := g.resumed != ""
	if resumes { // its config keeps what a new run needs
		if t.text, err = t.config(nil); err != nil {
			return err
		}
		run.LeavePolicyFile(t.Experiment)
		run.ReadPolicyCopy(t.Experiment, g.resumed)
		t.job = t.JobOf(t.Experiment)
	}
	if !g.inspects {
		if err := t.Kind.Check(t.Experiment, t.job, plan.Expected(on.Backend, on.Expect())); err != nil {
			return err
		}
	}
	run.KeepPolicyFile(t.Experiment)
	run.KeepEnvironment(t.Experiment)
	t.job = t.JobOf(t.Experiment)
	if err := g.idle(t.Experiment); err != nil { // a setting may depend on what the policy's file says
		return err
	}
	if !resumes {
		t.text, err = t.config(nil)
	}
	return err
}

// backendError names the file and its key in an error of the backend's settings, which begins with a flag, if the value
// of that flag is the file's.
func (t *task) backendError(err error) error {
	flag, wrong, _ := strings.Cut(err.Error(), " ")
	for _, name := range append(settings.Names(&console.MemorySettings{}), "backend", "devices") {
		if flag == "--"+name && t.given[name].from == byFile {
			return console.BadInput("%s: key %q %s", t.path, name, wrong)
		}
	}
	return err
}

// fileHead returns the head of a config file that may be nil.
func fileHead(file *configFile) map[string]any {
	if file == nil {
		return nil
	}
	return file.head
}

// suggest adds the settings that the experiment suggests for its argument, where none is given.
func (t *task) suggest() error {
	if t.job.Suggested == nil {
		return nil
	}
	for _, f := range settings.Fields(t.Experiment) {
		g, ok := t.given[f.Name]
		if !ok {
			continue
		}
		if err := f.Set(g.value); err != nil && (f.Name == t.Argument || f.Name == settings.EnvParam) {
			return err // apply says what is wrong with the others
		}
	}
	t.job = t.JobOf(t.Experiment)
	suggested := t.job.Suggested()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(suggested)) {
		if _, from := t.origin(name); from == byDefault {
			t.given[name] = given{suggested[name], byRecipe}
			words = append(words, fmt.Sprintf("--%s %v", name, suggested[name]))
		}
	}
	if len(words) > 0 {
		t.notices = append(t.notices, "settings for "+t.job.Title+": "+strings.Join(words, " "))
	}
	return nil
}

// lift sets the length of a run to the largest one if another end is given. It keeps a length that schedules depend on.
func (t *task) lift() error {
	f, ok := settings.Lookup(t.Experiment, t.Length)
	if !ok || !t.Unbounded || t.ends == (session.Ends{}) || slices.Contains(t.job.Bound, t.Length) {
		return nil
	}
	t.unlimited = true
	return t.changed(f.Set(f.Max()))
}

// dropIdle sets settings of a file back to their defaults where a flag leaves them without effect: --validation-target
// 0 of a resumed run drops the validation's number of episodes. A setting that a resumed run may not change stays.
func (g *flagValues) dropIdle(t *task) error {
	all, defaults := settings.Fields(t.Experiment), settings.Fields(t.Kind.New())
	for i, f := range all {
		if t.given[f.Name].from != byFile || f.Text() == defaults[i].Text() || g.resumed != "" && !f.MayChange() {
			continue
		}
		other, _, missing := f.Needs(all)
		if text, given := g.values[other]; missing && given {
			if err := t.changed(f.Set(defaults[i].Text())); err != nil {
				return err
			}
			t.notices = append(t.notices, fmt.Sprintf("--%s %s leaves %s of the file without effect: it is the "+
				"default again", other, text, f.Name))
		}
	}
	return nil
}

// idle refuses flags of settings that have no effect together with the others. A file may have them: the config of a
// run has all settings.
func (g *flagValues) idle(e run.Experiment) error {
	if err := g.needs(settings.Fields(e), ""); err != nil {
		return err
	}
	for _, c := range settings.ChosenParts(e) {
		if err := g.needs(settings.Fields(c.Settings), c.Name+"."); err != nil {
			return err
		}
	}
	return nil
}

// needs refuses flags of a struct's settings that have no effect together with its other settings. prefix goes before
// their names.
func (g *flagValues) needs(fields []settings.Field, prefix string) error {
	for _, f := range fields {
		_, given := g.values[prefix+f.Name]
		if !given && prefix != "" {
			_, given = g.values[f.Name]
		}
		if !given {
			continue
		}
		if err := f.CheckNeeds(prefix, fields); err != nil {
			return err
		}
	}
	return nil
}

// gather merges the pairs of a file, which are keys such as "env-param.walls" or one text, with those of the command
// line, which win. file has the file's settings.
func (t *task) gather(file map[string]any) error {
	for _, f := range settings.Fields(t.Experiment) {
		if f.Type != "pairs" {
			continue
		}
		table := map[string]any{}
		for name, g := range t.given {
			if inner, ok := strings.CutPrefix(name, f.Name+"."); ok {
				table[inner] = g.value
				delete(t.given, name)
			}
		}
		text, more := t.given[f.Name]
		if own, is := file[f.Name].(string); is && text.from == byFlag && text.value != "" && len(table) == 0 {
			pairs, fine := settings.ParsePairs(own)
			if !fine {
				return f.Set(own)
			}
			for name, value := range pairs {
				table[name] = value
			}
		}
		if len(table) == 0 {
			continue
		}
		t.given[f.Name] = given{table, byFile} // an error of it names the file
		if !more {
			continue
		}
		if err := f.Set(table); err != nil {
			return err
		}
		t.given[f.Name] = text
		pairs, ok := settings.ParsePairs(fmt.Sprint(text.value))
		if !ok {
			return f.Set(text.value)
		}
		merged, _ := settings.ParsePairs(f.Text())
		for name, value := range pairs {
			merged = merged.With(name, value)
		}
		t.given[f.Name] = given{merged, text.from}
	}
	return nil
}

// startAlone starts a run that is measured or looked at. It exchanges nothing with other runs.
func (t *task) startAlone(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	start := t.job.Start
	if t.job.StartAlone != nil {
		start = t.job.StartAlone
	}
	r, err := start(ctx, b)
	return r, run.OutOfMemory(err, t.Experiment, t.job)
}

// title returns the end of the name of the run's folder, safe in a path.
func (t *task) title() string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == 0 {
			return '-'
		}
		return r
	}, t.job.Title)
}
