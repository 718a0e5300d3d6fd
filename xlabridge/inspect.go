package xlabridge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"xlarun/xlabridge/hlo"
)

// inspection holds the texts that XLA's compiler writes about a program.
type inspection struct {
	// Before and After are the program as HLO text before and after the compiler's passes.
	Before string
	After  string
	// Memory is the compiler's report of the largest buffers. Some backends write none.
	Memory string
}

func (c *Client) inspect(name, stablehlo string, defaults map[string]any, o CompileOptions) (inspection, error) {
	dir, err := os.MkdirTemp("", "xlarun-inspect-*")
	if err != nil {
		return inspection{}, fmt.Errorf("xlabridge: inspect %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	if err := c.dump(name, stablehlo, defaults, o, dir); err != nil {
		return inspection{}, err
	}
	var found inspection
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
			return inspection{}, fmt.Errorf("xlabridge: inspect %s: %w", name, err)
		}
	}
	return found, nil
}

// dump compiles the module without the cache. The compiler writes its texts into the folder.
func (c *Client) dump(name, stablehlo string, defaults map[string]any, o CompileOptions, dir string) error {
	o.NoCache = true
	o.XLA = maps.Clone(o.XLA)
	if o.XLA == nil {
		o.XLA = map[string]any{}
	}
	o.XLA["xla_dump_to"] = dir
	o.XLA["xla_dump_hlo_as_text"] = true
	e, err := c.compileText(name, stablehlo, defaults, o)
	if err == nil {
		err = e.Close()
	}
	return err
}

// Dump compiles the program again and writes its StableHLO and all texts of the compiler into a folder. It returns the
// names of the files.
func (x *Compiled) Dump(dir string) (files []string, err error) {
	if x.Executable == nil {
		return nil, fmt.Errorf("xlabridge: the reference interpreter compiles nothing, so there is nothing to "+
			"write of %s", x.Program.Name)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	had := map[string]bool{}
	for _, f := range before {
		had[f.Name()] = true
	}
	text := filepath.Join(dir, "stablehlo.mlir")
	if err := os.WriteFile(text, []byte(x.Lowered.StableHLO), 0o644); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	defaults := x.client.programOptions(x.Lowered, x.options)
	o := x.options
	if x.client.Platform() == "cuda" { // the kernels, too: LLVM's code and PTX
		o.XLA = maps.Clone(o.XLA)
		if o.XLA == nil {
			o.XLA = map[string]any{}
		}
		o.XLA["xla_dump_emitter_re"] = ".*"
	}
	if err := x.client.dump(x.Program.Name, x.Lowered.StableHLO, defaults, o, dir); err != nil {
		return nil, err
	}
	after, err := os.ReadDir(dir)
	for _, f := range after {
		if !had[f.Name()] || f.Name() == filepath.Base(text) {
			files = append(files, f.Name())
		}
	}
	return files, err
}

// Loops returns the kernels of the compiled program, loop by loop. The program must not come from the cache of a
// topology.
func (e *Executable) Loops() ([]hlo.Loop, error) {
	format, code, err := e.Optimized()
	if err != nil {
		return nil, err
	}
	m, err := hlo.Parse(format, code)
	if err != nil {
		return nil, fmt.Errorf("xlabridge: optimized form of program %s: %w", e.name, err)
	}
	return m.Loops(), nil
}
