package run

// Kind is a kind of run. It becomes a command with its name.
type Kind struct {
	Name    string // "evolve"
	Short   string // one line of help
	Long    string // a paragraph of help
	Example string // command lines, indented by two blanks
	// Argument is the setting that the command's argument gives; "": the command takes no argument.
	Argument string
	// Version is the version of the state and of the settings' meaning, from 1. A checkpoint of another version is
	// refused. Raise it when the names or the meaning of the state's arrays change. Numbers that were float32 may
	// become float64 or int32 without a new version. It covers the kind's own arrays; strategy.Register and
	// policy.Register say what holds for strategies and policies.
	Version int
	// Unit is what Metrics.Step counts: "generation". Round is what one call of Run.Step is; "": the same.
	Unit, Round string
	// Length is the setting that Job.Last depends on: "generations".
	Length string
	// Unbounded says that nothing else depends on Length. A run that is given another end, such as a time, then has no
	// limit of its own.
	Unbounded bool
	// Work names the steps of steps/s: "environment steps of all members".
	Work string
	// Picture says in a word what the picture of a run shows (Capabilities.Map): "archive".
	Picture string
	// New returns an experiment with the default settings.
	New func() Experiment
}
