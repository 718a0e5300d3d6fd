package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/play"
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
	t := &task{Kind: kind, Experiment: kind.New(), session: defaultSessionSettings(), source: arg,
		topology: g.own.topology}
	t.job = t.JobOf(t.Experiment)
	path := ""
	var fromFile map[string]any
	if file != nil {
		path, fromFile = file.path, file.values
		if err := file.checkKind(kind); err != nil {
			return nil, err
		}
		if t.source == "" {
			t.source = path
		}
	}
	values, err := g.merge(fromFile, kind, arg)
	if err != nil {
		return nil, err
	}
	inFile := maps.Clone(fromFile) // errors of these settings name the file
	for name := range g.values {
		delete(inFile, name)
	}
	if err := t.checkUntrusted(path, inFile, values, g.resumed != ""); err != nil {
		return nil, err
	}
	if _, complete := fileHead(file)[formatKey]; !complete { // the config of a run has all settings
		if err := t.suggest(values); err != nil {
			return nil, settingError(err, path, inFile)
		}
	}
	if err := t.gather(values, fromFile, inFile, g.values); err != nil {
		return nil, settingError(err, path, inFile)
	}
	if err := t.changed(t.apply(values, path, inFile)); err != nil {
		return nil, settingError(err, path, inFile)
	}
	if err := g.dropIdle(t, inFile); err != nil {
		return nil, err
	}
	if err := g.idle(t.Experiment); err != nil {
		return nil, settingError(err, path, inFile)
	}
	_, named := values["backend"]
	_, byFlag := g.values["backend"]
	if t.cadence, err = t.session.check(byFlag || named && t.session.JIT); err != nil {
		return nil, settingError(err, path, inFile)
	}
	if t.ends, err = t.session.ends(); err != nil {
		return nil, settingError(err, path, inFile)
	}
	if _, given := values[t.Length]; !given {
		if err := t.lift(); err != nil {
			return nil, err
		}
	}
	if err := t.changed(run.KeepToOneDevice(t.Experiment)); err != nil {
		return nil, settingError(err, path, inFile)
	}
	on := t.on()
	if err := on.Check(); err != nil {
		return nil, backendError(err, path, inFile)
	}
	if g.opening != nil {
		g.opening(on)
	}
	resumes := g.resumed != ""
	if resumes { // its config keeps what a new run needs
		if t.text, err = t.config(nil); err != nil {
			return nil, err
		}
		run.LeavePolicyFile(t.Experiment)
		run.ReadPolicyCopy(t.Experiment, g.resumed)
		t.job = t.JobOf(t.Experiment)
	}
	if err := run.Check(t.Experiment, t.job, plan.Expected(on.Backend, on.Expect())); err != nil {
		return nil, settingError(t.markDefault(err, values), path, inFile)
	}
	run.KeepPolicyFile(t.Experiment)
	run.KeepEnvironment(t.Experiment)
	t.job = t.JobOf(t.Experiment)
	if err := g.idle(t.Experiment); err != nil { // a setting may depend on what the policy's file says
		return nil, settingError(err, path, inFile)
	}
	if !resumes {
		t.text, err = t.config(nil)
	}
	return t, err
}

// merge returns the settings of the file, of the command line and of the argument. The later ones win.
func (g *flagValues) merge(fromFile map[string]any, kind run.Kind, arg string) (map[string]any, error) {
	values := map[string]any{}
	maps.Copy(values, fromFile)
	for name, text := range g.values {
		values[name] = text
	}
	if arg == "" {
		return values, nil
	}
	if kind.Argument == "" {
		return nil, console.BadInput("got the argument %q, wants none", arg)
	}
	if text, ok := g.values[kind.Argument]; ok && text != arg {
		return nil, console.BadInput("got the argument %s and --%s %s: give one of them", arg, kind.Argument, text)
	}
	values[kind.Argument] = arg
	return values, nil
}

// backendError names the file in an error of the backend's settings if the file has one of them.
func backendError(err error, path string, inFile map[string]any) error {
	for _, name := range append(settings.Names(&console.MemorySettings{}), "backend") {
		if _, is := inFile[name]; is {
			return console.BadInput("%s: %w", path, err)
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

// suggest adds the settings that the experiment suggests for its argument, where values has none.
func (t *task) suggest(values map[string]any) error {
	if t.job.Suggested == nil {
		return nil
	}
	for _, f := range settings.Fields(t.Experiment) {
		value, given := values[f.Name]
		if !given {
			continue
		}
		if err := f.Set(value); err != nil && (f.Name == t.Argument || f.Name == settings.EnvParam) {
			return err // apply says what is wrong with the others
		}
	}
	t.job = t.JobOf(t.Experiment)
	suggested := t.job.Suggested()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(suggested)) {
		if _, given := values[name]; !given {
			values[name] = suggested[name]
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
func (g *flagValues) dropIdle(t *task, inFile map[string]any) error {
	all, defaults := settings.Fields(t.Experiment), settings.Fields(t.Kind.New())
	for i, f := range all {
		_, stored := inFile[f.Name]
		if !stored || f.Text() == defaults[i].Text() || g.resumed != "" && !f.MayChange() {
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

// gather merges the pairs of a file, which are keys such as "env-param.walls", with those of the command line, which
// win.
func (t *task) gather(values, file, fromFile map[string]any, flags map[string]string) error {
	for _, f := range settings.Fields(t.Experiment) {
		if f.Type != "pairs" {
			continue
		}
		table := map[string]any{}
		for name, value := range values {
			if inner, ok := strings.CutPrefix(name, f.Name+"."); ok {
				table[inner] = value
				delete(values, name)
				fromFile[f.Name] = value // an error of it names the file
			}
		}
		text, ok := values[f.Name]
		// The file may have the pairs as one text.
		if own, is := file[f.Name].(string); is && flags[f.Name] != "" && len(table) == 0 {
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
		if !ok {
			values[f.Name] = table
			continue
		}
		if err := f.Set(table); err != nil {
			return err
		}
		all := f.Text()
		delete(fromFile, f.Name)
		more, ok := settings.ParsePairs(fmt.Sprint(text))
		if !ok {
			return f.Set(text)
		}
		merged, _ := settings.ParsePairs(all)
		for name, value := range more {
			merged = merged.With(name, value)
		}
		values[f.Name] = merged
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
