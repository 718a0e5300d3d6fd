package xlabridge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// Inspection holds the texts that XLA's compiler writes about a program.
type Inspection struct {
	// Before and After are the program as HLO text before and after the compiler's passes.
	Before string
	After  string
	// Memory is the compiler's report of the largest buffers. Some backends write none.
	Memory string
}

// Inspect compiles the module without the cache and returns the compiler's texts.
func (c *Client) Inspect(name, stablehlo string, o CompileOptions) (Inspection, error) {
	return c.inspect(name, stablehlo, c.defaultOptions(o), o)
}

func (c *Client) inspect(name, stablehlo string, defaults map[string]any, o CompileOptions) (Inspection, error) {
	dir, err := os.MkdirTemp("", "xlarun-inspect-*")
	if err != nil {
		return Inspection{}, fmt.Errorf("xlabridge: inspect %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	o.NoCache = true
	o.XLA = maps.Clone(o.XLA)
	if o.XLA == nil {
		o.XLA = map[string]any{}
	}
	o.XLA["xla_dump_to"] = dir
	o.XLA["xla_dump_hlo_as_text"] = true
	e, err := c.compileText(name, stablehlo, defaults, o)
	if err != nil {
		return Inspection{}, err
	}
	_ = e.Close()
	var found Inspection
	for _, want := range []struct {
		pattern string
		text    *string
		needed  bool
	}{
		{"*before_optimizations.txt", &found.Before, true},
		{"*after_optimizations.txt", &found.After, true},
		{"*memory-usage-report.txt", &found.Memory, false},
	} {
		files, err := filepath.Glob(filepath.Join(dir, want.pattern))
		if err == nil && len(files) == 0 && want.needed {
			err = fmt.Errorf("the compiler wrote no %s", want.pattern)
		}
		for _, file := range files {
			text, readErr := os.ReadFile(file)
			if readErr != nil {
				err = readErr
			}
			*want.text += string(text)
		}
		if err != nil {
			return Inspection{}, fmt.Errorf("xlabridge: inspect %s: %w", name, err)
		}
	}
	return found, nil
}
