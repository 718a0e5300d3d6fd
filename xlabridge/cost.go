//go:build cgo

package xlabridge

import (
	"fmt"

	"xlarun/xlabridge/internal/pjrt"
)

// Cost returns the compiler's counts of the program's work, by the compiler's names ("flops", "bytes accessed",
// "transcendentals", ...). A loop's body is counted once. Plugins without counts (CPU) return an error that wraps a
// PluginError of code 12.
func (e *Executable) Cost() (map[string]float64, error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	defer e.h.release()
	if e.ahead != nil {
		return e.ahead.Cost, nil
	}
	cost, err := costOf(e.inner)
	if err != nil {
		err = fmt.Errorf("xlabridge: cost of program %s: %w", e.name, err)
	}
	return cost, err
}

// costOf asks the plugin for the work of a program.
func costOf(p *pjrt.Program) (map[string]float64, error) {
	counts, err := p.Cost()
	if err != nil {
		return nil, err
	}
	cost := map[string]float64{}
	for name, n := range counts {
		switch n := n.(type) {
		case float32:
			cost[name] = float64(n)
		case int64:
			cost[name] = float64(n)
		}
	}
	return cost, nil
}
