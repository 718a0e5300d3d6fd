package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
)

// sessionSettings are the settings of the session: the backend and the checkpoints. No kind of run knows them.
type sessionSettings struct {
	Backend string `set:"backend" help:"what to run on: cpu, cuda, rocm, tpu, reference"`
	Plugin  string `set:"plugin" advanced:"" flag:"names code to load" help:"PJRT plugin file to use instead of the pinned one"`
	console.MemorySettings
	JIT    bool   `set:"jit" advanced:"" help:"compile; --jit=false interprets op by op and stops at the first NaN"`
	Every  string `set:"checkpoint-every" advanced:"" number:"" help:"time, or generations, updates, …, between checkpoints"`
	Keep   int    `set:"keep" advanced:"" min:"1" max:"1000000" help:"checkpoints that stay, the newest ones"`
	Axis   string `set:"tensorboard-axis" advanced:"" oneof:"rounds,steps" help:"axis in TensorBoard: by round or by step"`
	For    string `set:"for" advanced:"" number:"" help:"time such as 120s after which the run ends; of a resumed one, anew"`
	Rounds int64  `set:"rounds" advanced:"" min:"0" help:"generations, updates, … of the whole run after which it ends"`
	Work   int64  `set:"total-steps" advanced:"" min:"0" help:"steps, as steps/s counts them, after which the run ends"`
}

func defaultSessionSettings() sessionSettings {
	return sessionSettings{Backend: "cpu", MemorySettings: console.DefaultMemory(), JIT: true, Every: "10s", Keep: 3,
		Axis: "rounds"}
}

// endNames are the settings of ends.
var endNames = []string{"for", "rounds", "total-steps"}

// ends parses the ends of the run.
func (p *sessionSettings) ends() (session.Ends, error) {
	e := session.Ends{Rounds: p.Rounds, Work: float64(p.Work)}
	if p.For == "" || p.For == "0" {
		return e, nil
	}
	var err error
	if e.After, err = time.ParseDuration(strings.TrimSpace(p.For)); err != nil || e.After <= 0 {
		return e, settings.Wrong("for", p.For, "a time such as 120s, 5m or 1h30m")
	}
	return e, nil
}

// check parses the cadence, and sets the backend to the interpreter without --jit. givenBackend reports whether the
// user named a backend.
func (p *sessionSettings) check(givenBackend bool) (session.Cadence, error) {
	if err := settings.Check(p); err != nil {
		return session.Cadence{}, err
	}
	if !p.JIT {
		if givenBackend && p.Backend != console.Reference {
			return session.Cadence{}, console.BadInput("--jit=false interprets, so it does not go with --backend %s: "+
				"leave one of them out", p.Backend)
		}
		p.Backend = console.Reference
	}
	if n, err := strconv.ParseInt(p.Every, 10, 64); err == nil && n > 0 {
		return session.Cadence{Steps: n}, nil
	}
	if d, err := time.ParseDuration(strings.TrimSpace(p.Every)); err == nil && d > 0 {
		return session.Cadence{Time: d}, nil
	}
	return session.Cadence{}, settings.Wrong("checkpoint-every", p.Every, "a time such as 10s or 5m, or a number of "+
		"generations, updates, … such as 100")
}

// flags returns the flags of the backend, for a run with the common settings c.
func (p sessionSettings) flags(c *run.Common) console.BackendFlags {
	return console.BackendFlags{Backend: p.Backend, Plugin: p.Plugin, Devices: c.Devices,
		Memory: p.Options()}
}

func asSetting(err error) (*settings.Error, bool) { return errors.AsType[*settings.Error](err) }
