package bench

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/hardware"
	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// cFlags are tried in turn: the first line holds on x86-64.
var cFlags = [][]string{
	{"-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512", "-fopenmp"},
	{"-O3", "-march=native", "-ffast-math", "-fopenmp"},
}

// compileC compiles a program of third_party/peers into the cache folder, once for each compiler, source, set of
// defines and kind of machine.
func compileC(ctx context.Context, name string, defines ...string) (string, error) {
	source, err := fs.ReadFile(thirdparty.Peers, "peers/"+name)
	if err != nil {
		return "", err
	}
	compiler, version, err := compilerVersion(ctx)
	if err != nil {
		return "", err
	}
	folder, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%v\n%v\n%s", source, version, cFlags, defines,
		hardware.Fingerprint()))
	dir := filepath.Join(folder, "calibrate")
	program := filepath.Join(dir, fmt.Sprintf("%s-%x", name[:len(name)-len(filepath.Ext(name))], sum[:8]))
	if console.Exists(program) {
		return program, nil
	}
	scratch, err := os.MkdirTemp("", "xlarun-calibrate-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	file := filepath.Join(scratch, name)
	if err := os.WriteFile(file, source, 0o644); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	half := fmt.Sprintf("%s.%d", program, os.Getpid()) // whole under its name, or not there
	defer func() { _ = os.Remove(half) }()
	for _, flags := range cFlags {
		args := append(append(slices.Clone(flags), defines...), file, "-lm", "-o", half)
		if _, err = outputOf(exec.CommandContext(ctx, compiler, args...)); err == nil {
			return program, os.Rename(half, program)
		}
	}
	return "", fmt.Errorf("%s cannot be compiled (%w): install a C compiler with OpenMP as cc", name, err)
}

// compilerVersion finds the C compiler.
func compilerVersion(ctx context.Context) (path, version string, err error) {
	if path, err = exec.LookPath("cc"); err != nil {
		return "", "", fmt.Errorf("there is no C compiler named cc in the PATH")
	}
	version, err = outputOf(exec.CommandContext(ctx, path, "--version"))
	return path, version, err
}
