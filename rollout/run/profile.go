package run

import (
	"bytes"
	"encoding/json"

	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// Profile says what was compiled, with which plan, and where both came from.
type Profile struct {
	plan.Choice
	TraceSeconds   float64 `json:"trace_seconds"`
	CompileSeconds float64 `json:"compile_seconds"` // of compiling or loading
	Cache          string  `json:"cache"`           // "hit" if all programs were hits
	CacheReason    string  `json:"cache_reason,omitempty"`
	// PeakMemoryBytes is the memory that the largest program needs on one device; 0 if the backend does not say.
	PeakMemoryBytes int64     `json:"peak_memory_bytes"`
	Devices         int       `json:"devices"`
	PlannedBytes    int64     `json:"planned_memory_bytes"` // the plan's estimate for the run's arrays on all devices
	MemoryBudget    int64     `json:"memory_budget_bytes"`  // for these arrays; 0: not known
	Programs        []Program `json:"programs"`
	// Facts are further values of a kind of run. MarshalJSON writes them beside the fields.
	Facts []Fact `json:"-"`
	// Chosen are the settings that were chosen for the run. With them, the run repeats to the byte, whatever plans are
	// stored and whatever memory is free.
	Chosen settings.Values `json:"-"`
	// Placement says where the members play; nil: not known.
	Placement *Placement `json:"-"`
}

// Fact is a named value that JSON can hold.
type Fact struct {
	Name  string
	Value any
}

// Fact returns the value of a name; nil if there is none.
func (p Profile) Fact(name string) any {
	for _, f := range p.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// MarshalJSON writes the facts beside the other fields.
func (p Profile) MarshalJSON() ([]byte, error) {
	type plain Profile
	text, err := json.Marshal(plain(p))
	if err != nil || len(p.Facts) == 0 {
		return text, err
	}
	out := bytes.NewBuffer(text[:len(text)-1])
	for _, f := range p.Facts {
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		name, _ := json.Marshal(f.Name) // a string: it cannot fail
		out.WriteByte(',')
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Program is one compiled program of a run.
type Program struct {
	Name           string  `json:"name"`
	TraceSeconds   float64 `json:"trace_seconds"`
	CompileSeconds float64 `json:"compile_seconds"` // of compiling or loading
	Cache          string  `json:"cache"`
	Reason         string  `json:"reason,omitempty"` // why it is not a hit
	Stored         bool    `json:"stored"`           // it is in the cache
	Bytes          int     `json:"bytes"`            // of the compiled program
	MemoryBytes    int64   `json:"memory_bytes"`     // on one device; 0 if the backend does not say
}

// ProgramOf describes a compiled program.
func ProgramOf(x *xlabridge.Compiled) Program {
	c := Program{Name: x.Program.Name, TraceSeconds: x.Program.TraceSeconds, Cache: cache.Off}
	if x.Executable != nil {
		info := x.Executable.Info()
		c.CompileSeconds, c.Cache, c.Reason, c.Stored, c.Bytes = info.Seconds, info.Cache, info.Reason, info.Stored,
			info.Bytes
		if m, err := x.Executable.Memory(); err == nil {
			c.MemoryBytes = m.Total()
		}
	}
	return c
}

// Account adds a program to the profile.
func (p *Profile) Account(c Program) {
	if len(p.Programs) == 0 {
		p.Cache = c.Cache
	}
	p.Programs = append(p.Programs, c)
	p.TraceSeconds += c.TraceSeconds
	p.CompileSeconds += c.CompileSeconds
	if c.Cache != cache.Hit {
		p.Cache = c.Cache
	}
	if p.CacheReason == "" {
		p.CacheReason = c.Reason
	}
	p.PeakMemoryBytes = max(p.PeakMemoryBytes, c.MemoryBytes)
}

// Bytes returns the size of all compiled programs.
func (p Profile) Bytes() (n int) {
	for _, c := range p.Programs {
		n += c.Bytes
	}
	return n
}

// PlanNotice returns a line about the choice of the plan, such as that a stored one cannot be read; "" for none.
func (p Profile) PlanNotice() string {
	if p.Source == plan.Static && p.Choice.Reason != "" {
		return p.Choice.Reason + "; the plan is the rule's"
	}
	return p.Choice.Reason
}

// Placement says where a run's members play: in which lane of which tile.
type Placement struct {
	Lanes     int                      // members of a tile
	BatchLast bool                     // they lie along the last axis
	Member    func(tile, lane int) int // the member in a lane of a tile, both from 0; -1: padding
}
