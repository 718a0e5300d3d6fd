package console

import (
	"github.com/spf13/pflag"

	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// MemorySettings say how much of a GPU's memory is taken. DeviceMemoryOptions.Check has their ranges.
type MemorySettings struct {
	Fraction    float64 `set:"memory-fraction" advanced:"" help:"part of a GPU's memory that is used, such as 0.5; 0 for the plugin's default, 0.75"`
	Preallocate bool    `set:"preallocate" advanced:"" help:"take that part of a GPU's memory at the start, not as it is needed"`
}

// DefaultMemory returns the plugin's defaults.
func DefaultMemory() MemorySettings { return MemorySettings{Preallocate: true} }

// Options returns the options of a client.
func (m MemorySettings) Options() xlabridge.DeviceMemoryOptions {
	return xlabridge.DeviceMemoryOptions{Fraction: m.Fraction, OnDemand: !m.Preallocate}
}

// addMemory adds the flags of MemorySettings.
func (o *BackendFlags) addMemory(f *pflag.FlagSet) {
	m := DefaultMemory()
	for _, x := range settings.Fields(&m) {
		f.Var(memoryFlag{x, func() { o.Memory = m.Options() }}, x.Name, x.Help)
		if x.Type == "bool" {
			f.Lookup(x.Name).NoOptDefVal = "true"
		}
	}
}

// memoryFlag is the flag of one of MemorySettings. changed is called after each change.
type memoryFlag struct {
	settings.Field
	changed func()
}

func (m memoryFlag) String() string { return m.Text() }

// Type is the name that pflag has for the type.
func (m memoryFlag) Type() string {
	if m.Field.Type == "number" {
		return "float64"
	}
	return m.Field.Type
}

func (m memoryFlag) Set(text string) error {
	defer m.changed()
	return m.Field.Set(text)
}
