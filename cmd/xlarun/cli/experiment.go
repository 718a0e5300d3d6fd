package cli

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/sparse"
)

// experiment is an experiment that a command other than evolve was given.
type experiment struct {
	evolveFlags
	source string // the argument it came from
}

// sparseExperiment is one of the sparse command.
type sparseExperiment struct {
	sparseFlags
	source   string
	pictures sparse.Data
}

// addExperimentFlags adds the flags of the evolve command, for commands that take experiments but run none.
func addExperimentFlags(f *pflag.FlagSet, o *evolveFlags) {
	o.add(f)
	_ = f.MarkHidden("out")
}

// evolveSet and sparseSet are the flags of the two commands.
func evolveSet(o *evolveFlags) *pflag.FlagSet { return newSet("evolve", o.add) }
func sparseSet(o *sparseFlags) *pflag.FlagSet { return newSet(sparseName, o.add) }

func newSet(name string, add func(*pflag.FlagSet)) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetNormalizeFunc(console.NormalizeFlag)
	add(flags)
	return flags
}

// sparseName is the argument that stands for an experiment of the sparse command.
const sparseName = "sparse"

// readExperiment resolves one argument, a config file (a name that ends in .toml, or a file that exists) or an
// environment; none is "". Flags of the command line hold for every argument.
func readExperiment(given *pflag.FlagSet, arg string) (*experiment, error) {
	e := &experiment{source: arg}
	flags := evolveSet(&e.evolveFlags)
	if err := takeGiven(given, flags, arg); err != nil {
		return nil, err
	}
	var args []string
	if !takeFile(&e.runFlags, arg) && arg != "" {
		args = []string{arg}
	}
	_, err := e.resolve(flags, args)
	return e, err
}

// readSparse resolves an argument for which isSparse holds. The data is not read yet: see load.
func readSparse(given *pflag.FlagSet, arg string) (*sparseExperiment, error) {
	e := &sparseExperiment{source: arg}
	flags := sparseSet(&e.sparseFlags)
	if err := takeGiven(given, flags, arg); err != nil {
		return nil, err
	}
	if arg != sparseName {
		takeFile(&e.runFlags, arg)
	}
	_, err := e.resolve(flags)
	return e, err
}

// takeGiven sets the flags that the command line has.
func takeGiven(given, flags *pflag.FlagSet, arg string) (err error) {
	if given.Changed("out") {
		return console.BadInput("--out got %q, but nothing is written to a folder here: leave it out", given.Lookup("out").Value)
	}
	if given.Changed("config") && isConfigFile(arg) {
		return console.BadInput("got the config file %s and --config %s: give one of them", arg, given.Lookup("config").Value)
	}
	evolves := evolveSet(new(evolveFlags))
	given.Visit(func(f *pflag.Flag) {
		switch {
		case err != nil:
		case flags.Lookup(f.Name) != nil:
			err = flags.Set(f.Name, f.Value.String())
		case evolves.Lookup(f.Name) != nil:
			err = console.BadInput("%s is an experiment of %s, which has no --%s: leave it out, or give the experiments one by one", arg, flags.Name(), f.Name)
		}
	})
	if err != nil {
		return console.UsageError{Err: err}
	}
	return nil
}

// takeFile makes the argument the config file, if it is one.
func takeFile(o *runFlags, arg string) bool {
	if !isConfigFile(arg) {
		return false
	}
	o.file = arg
	return true
}

func isConfigFile(arg string) bool {
	if strings.HasSuffix(arg, ".toml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// isSparse tells whether an argument, or with none --config, is an experiment of the sparse command: its name, or a
// config file with a key that sparse has and evolve has not. A file with keys of both is refused; a file that cannot be
// read is left to what resolves it.
func isSparse(given *pflag.FlagSet, arg string) (bool, error) {
	if arg == sparseName {
		return true, nil
	}
	path := arg
	if arg == "" {
		path = given.Lookup("config").Value.String()
	}
	if path == "" || !isConfigFile(path) {
		return false, nil
	}
	text, err := os.ReadFile(path)
	var values map[string]any
	if err != nil || toml.Unmarshal(text, &values) != nil {
		return false, nil
	}
	evolves, sparses := fileKeys(evolveSet(new(evolveFlags))), fileKeys(sparseSet(new(sparseFlags)))
	var ofEvolve, ofSparse string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := string(console.NormalizeFlag(nil, key))
		switch inEvolve, inSparse := slices.Contains(evolves, name), slices.Contains(sparses, name); {
		case inSparse && !inEvolve:
			ofSparse = key
		case inEvolve && !inSparse:
			ofEvolve = key
		}
	}
	if ofSparse != "" && ofEvolve != "" {
		return false, console.BadInput("%s has the key %q of evolve and the key %q of sparse: keep those of one command", path, ofEvolve, ofSparse)
	}
	return ofSparse != "", nil
}

// load reads the data, or takes it from what was read before, by folder.
func (e *sparseExperiment) load(ctx context.Context, l console.Listener, have map[string]sparse.Data) (err error) {
	d, ok := have[e.data]
	if !ok {
		if e.data == "" {
			d, err = fetchPictures(ctx, l)
		} else {
			d, err = readPictures(e.data)
		}
		if err != nil {
			return err
		}
		have[e.data] = d
	}
	e.pictures = d
	return nil
}

// purpose is what the experiment's programs are for; it needs the data.
func (e *sparseExperiment) purpose() string { return e.config.Purpose(e.config.Shape(e.pictures)) }
