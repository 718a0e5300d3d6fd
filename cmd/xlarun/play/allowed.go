package play

import (
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/envs/process"
)

// allowed is a flag with the command of an environment. Files must not name commands, so that a member of such an
// environment needs the flag.
type allowed struct{ id string }

// AddAllowed adds the flag --env to a command that reads members.
func AddAllowed(f *pflag.FlagSet) {
	f.Var(&allowed{}, "env", "of a member whose environment is a program: the command, exec:COMMAND, which a file "+
		"must not name")
}

func (a *allowed) String() string { return a.id }

// Type returns the word for the value in the help.
func (a *allowed) Type() string { return "command" }

func (a *allowed) Set(id string) error {
	if !Allow(id) {
		return console.BadInput("--env got %s, wants exec:COMMAND", console.ShortText(id))
	}
	a.id = id
	return nil
}

// Allow lets the command of an environment run that the command line names. It reports whether it names one.
func Allow(id string) bool {
	scheme, source, ok := envs.SchemeOf(id)
	if !ok || scheme != process.Scheme {
		return false
	}
	process.Allow(source)
	return true
}
