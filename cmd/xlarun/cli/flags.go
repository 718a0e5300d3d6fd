package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge/topology"
)

// flagValues holds the settings on a command line: texts by name. They are parsed when the kind of run is known.
type flagValues struct {
	values map[string]string
	// own are the flags of the call. They have no keys in a config file.
	own ownFlags
	// trial is the config of the study's trial that --from-study names; nil: none.
	trial *configFile
	// resumed is the folder of the run whose settings these are. It has a state and, where that is needed, a copy of
	// the policy's file. "": the settings are of a new run, which reads that file itself.
	resumed  string
	inspects bool // nothing starts: Kind.Check is left out, which traces programs and wants a server
	// opening is called as soon as it is known which backend will be opened; nil: it is not.
	opening func(console.BackendFlags)
}

// ownFlags are the flags of one call.
type ownFlags struct {
	file     string // --config
	out      string
	json     bool
	resume   string
	mirror   string
	study    string // --from-study
	drop     bool   // --drop-rows
	grace    time.Duration
	log      console.LogFlags
	topology string // --topology, if it names devices
	fresh    bool   // --resume auto, and the folder holds a run without a checkpoint
}

// setting is one flag. It takes any text: the setting itself checks the value later.
type setting struct {
	flags *flagValues
	name  string
	kind  string // of values, as settings.Field.Type
}

func (s setting) Set(text string) error {
	if before, ok := s.flags.values[s.name]; ok && s.kind == "pairs" { // each flag adds some
		text = before + "," + text
	}
	s.flags.values[s.name] = text
	return nil
}

func (s setting) String() string {
	if s.flags == nil {
		return ""
	}
	return s.flags.values[s.name]
}

// Type returns the word for the value in the help.
func (s setting) Type() string { return s.kind }

func (s setting) add(f *pflag.FlagSet, short, help, value string, hidden bool) {
	if f.Lookup(s.name) != nil {
		return
	}
	flag := f.VarPF(s, s.name, short, help)
	flag.DefValue, flag.Hidden = value, hidden
	if s.kind == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// addRunFlags adds flags for the settings of kinds of run to a command, with their help and completion. It does so only
// if the arguments may call the command, or ask for manuals or help, and reports whether it did: making the flags of
// all commands takes some 15 ms of every start.
func (a *App) addRunFlags(cmd *cobra.Command, g *flagValues, kinds ...run.Kind) bool {
	if len(a.args) > 0 && !slices.ContainsFunc(a.args, func(arg string) bool {
		return arg == cmd.Name() || arg == "man" || arg == "help"
	}) {
		return false
	}
	g.addSettings(cmd.Flags(), kinds...)
	a.addValues(cmd, kinds...)
	g.addHelp(a, cmd, kinds...)
	return true
}

// addSettings adds the flags of kinds of run. The help shows those of the first kind.
func (g *flagValues) addSettings(f *pflag.FlagSet, kinds ...run.Kind) {
	g.values = map[string]string{}
	f.SortFlags = false
	for i, k := range kinds {
		e := k.New()
		session := defaultSessionSettings()
		for _, s := range []any{e, &session} {
			parts := choices(s)
			for _, x := range settings.Fields(s) {
				help := x.Help
				if names := parts[x.Name]; len(names) > manyChoices {
					help += fmt.Sprintf(": one of %d that xlarun help %s lists", len(names), plural(x.Name))
				} else if len(names) > 0 {
					help += ": " + strings.Join(names, ", ")
				}
				value := x.Default
				if x.Type == "bool" && value == "false" {
					value = ""
				}
				setting{g, x.Name, x.Type}.add(f, x.Short, help, value, i > 0)
				if i == 0 && x.Advanced {
					markAdvanced(f, x.Name)
				}
			}
		}
		g.addParts(f, e, i > 0)
	}
	if f.Lookup("generations") == nil { // a name for the rounds of any kind
		setting{g, "rounds", "int"}.addAs(f, "generations")
	}
}

// manyChoices is the number of choices above which the help of a command does not name them.
const manyChoices = 12

// markAdvanced says that a flag is seldom needed.
func markAdvanced(f *pflag.FlagSet, name string) {
	flag := f.Lookup(name)
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[advancedKey] = []string{}
}

// addAs adds a second, hidden name of the setting's flag.
func (s setting) addAs(f *pflag.FlagSet, name string) { f.VarPF(s, name, "", "").Hidden = true }

// choices returns the names that the settings which name parts accept, by setting.
func choices(s any) map[string][]string {
	h, ok := s.(settings.HasParts)
	if !ok {
		return nil
	}
	names := map[string][]string{}
	for _, p := range h.Parts() {
		names[p.Name] = slices.Sorted(maps.Keys(p.Choices))
	}
	return names
}

// addParts adds the flags of the parts' settings. Their names without the part's name are hidden flags.
func (g *flagValues) addParts(f *pflag.FlagSet, e run.Experiment, hidden bool) {
	h, ok := e.(settings.HasParts)
	if !ok {
		return
	}
	for _, p := range h.Parts() {
		type use struct {
			settings.Field
			helps  []string            // the help texts: choices may have different ones
			by     map[string][]string // by help text: the choices with it, and their defaults
			having []string            // these choices, as console.ChoicesKey has them
		}
		var order []string
		uses := map[string]*use{}
		for _, choice := range slices.Sorted(maps.Keys(p.Choices)) {
			for _, x := range settings.Fields(p.Choices[choice]) {
				if uses[x.Name] == nil {
					uses[x.Name] = &use{Field: x, by: map[string][]string{}}
					order = append(order, x.Name)
				}
				u := uses[x.Name]
				if u.by[x.Help] == nil {
					u.helps = append(u.helps, x.Help)
				}
				u.by[x.Help] = append(u.by[x.Help], choice+" "+x.Default)
				u.having = append(u.having, p.Name+"="+choice)
			}
		}
		for _, name := range order {
			u := uses[name]
			var text []string
			for _, help := range u.helps {
				text = append(text, fmt.Sprintf("%s (%s)", help, strings.Join(u.by[help], ", ")))
			}
			setting{g, p.Name + "." + name, u.Type}.add(f, "", strings.Join(text, "; "), "", hidden)
			f.Lookup(p.Name + "." + name).Annotations = map[string][]string{partKey: {p.Name},
				console.ChoicesKey: u.having}
		}
		defer func() {
			for _, name := range order {
				own := f.Lookup(name) == nil
				setting{g, name, uses[name].Type}.add(f, "", "", "", true)
				flag := f.Lookup(name)
				if had, shared := flag.Annotations[console.ChoicesKey]; own || shared {
					flag.Annotations = map[string][]string{console.ChoicesKey: append(had, uses[name].having...)}
				}
			}
		}()
	}
}

// addCall adds the flags of the call. title ends the name of the run's folder; "": the command makes no run.
func (g *flagValues) addCall(f *pflag.FlagSet, title string) {
	o := &g.own
	f.StringVar(&o.file, "config", "", "TOML file of such settings; those of the command line win")
	if title != "" {
		f.StringVar(&o.out, "out", "", `folder of the run, "none" for no folder (default "runs/TIME-`+title+`")`)
		f.StringVar(&o.resume, "resume", "", "go on with the run in this folder; auto: in --out, or start it there")
		f.StringVar(&o.mirror, "mirror", "", "folder or s3://BUCKET/PREFIX that the run's folder is copied to, at "+
			"most every minute; --resume auto goes on from it")
		f.BoolVar(&o.drop, "drop-rows", false, "go on also if rows of metrics.jsonl are missing")
		f.StringVar(&o.study, "from-study", "", "start with the settings of the best trial of this study, of the "+
			"trial N of FILE:N; FILE:STUDY and FILE:STUDY:N where the database has several")
		f.DurationVar(&o.grace, "grace", console.DefaultGrace, console.GraceHelp)
		o.log.Add(f)
		for _, name := range []string{"drop-rows", "grace", "mirror", "from-study", "log", "log-level"} {
			markAdvanced(f, name)
		}
	}
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
}

// topologyFlag names the devices that a program is compiled for without having them. It is also a setting of islands,
// with values that name no devices.
const topologyFlag = "topology"

// addTopology adds --topology, for commands that make programs and need not run them.
func (g *flagValues) addTopology(f *pflag.FlagSet) {
	setting{g, topologyFlag, "string"}.add(f, "", "", "", false)
	flag := f.Lookup(topologyFlag)
	flag.Value, flag.Hidden, flag.DefValue = absentFlag{setting{g, topologyFlag, "string"}}, false, ""
	flag.Usage = "devices to compile for, there or not: h100x8, v5e:2x2, …; islands take their own topology " +
		"(ring, …) by the same flag, too"
}

// absentFlag is the flag --topology of commands that make programs. A value that names devices is their topology. Any
// other is the setting of islands, so that the flag may stand twice: --topology ring --topology h100.
type absentFlag struct{ setting }

func (t absentFlag) Set(text string) error {
	if _, err := topology.Parse(text); err == nil {
		t.flags.own.topology = text
		return nil
	}
	return t.setting.Set(text)
}

// refuseTopology refuses an argument that names devices. An experiment is wanted there.
func refuseTopology(args []string) error {
	for _, arg := range args {
		if _, err := topology.Parse(arg); err == nil {
			return console.BadInput("got the argument %s, which names devices: use --%s %s", arg, topologyFlag, arg)
		}
	}
	return nil
}

// chooseTopology takes the topology, if --topology names one, and sets its backend.
func (g *flagValues) chooseTopology() error {
	if name, given := g.values[topologyFlag]; given && len(kindsWithTopology(name)) == 0 {
		_, err := topology.Parse(name)
		return console.BadInput("--%s %w", topologyFlag, err)
	}
	if g.own.topology == "" {
		return nil
	}
	t, err := topology.Parse(g.own.topology)
	if err != nil {
		return console.BadInput("--%s %w", topologyFlag, err)
	}
	if _, given := g.values["backend"]; !given {
		g.values["backend"] = t.Backend
	}
	return nil
}

// kindsWithTopology returns the kinds of run whose own topology has a value; "": that have a topology.
func kindsWithTopology(value string) (kinds []string) {
	for _, k := range run.Kinds() {
		if f, ok := settings.Lookup(k.New(), topologyFlag); ok && (value == "" || slices.Contains(f.OneOf(), value)) {
			kinds = append(kinds, k.Name)
		}
	}
	return kinds
}

// settingError makes an error of a setting one that names the flag.
func settingError(err error) error {
	if e, ok := asSetting(err); ok {
		return console.BadInput("--%s got %s, wants %s", shortKey(e.Key), console.ShortText(e.Got), e.Wants)
	}
	if _, named := errors.AsType[*credentials.Error](err); named { // its text names the flag
		return console.UsageError{Err: err}
	}
	return err
}
