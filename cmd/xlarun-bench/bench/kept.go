package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge/fetch"
)

// mostKept is the number of commits whose executables are kept.
const mostKept = 20

// kept returns programs of a revision of the repository in the current folder, given the folders of their sources.
// Those that were not built before are built in a temporary worktree.
func (h *host) kept(ctx context.Context, revision string, sources ...string) (programs []string, err error) {
	commit, err := outputOf(exec.CommandContext(ctx, "git", "rev-parse", "--verify", revision+"^{commit}"))
	if err != nil {
		return nil, console.BadInput("%q is no revision of the repository here (%w)", revision, err)
	}
	commit = strings.TrimSpace(commit)
	cache, err := fetch.CacheDir()
	if err != nil {
		return nil, err
	}
	all := filepath.Join(cache, "bench")
	folder := filepath.Join(all, commit)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	tree := ""
	for _, source := range sources {
		program := filepath.Join(folder, filepath.Base(source))
		programs = append(programs, program)
		if console.Exists(program) {
			continue
		}
		if tree == "" {
			dir, err := os.MkdirTemp("", "xlarun-bench-*")
			if err != nil {
				return nil, err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			tree = filepath.Join(dir, "tree")
			if _, err := outputOf(exec.CommandContext(ctx, "git", "worktree", "add", "--detach", tree,
				commit)); err != nil {
				return nil, err
			}
			defer func() { // after a signal, too
				_, _ = outputOf(exec.Command("git", "worktree", "remove", "--force", tree))
			}()
		}
		part := fmt.Sprintf("%s.%d", program, os.Getpid())
		fmt.Fprintf(h.Err, "building %s of %.8s\n", filepath.Base(source), commit)
		if err := h.build(ctx, tree, source, part); err != nil {
			return nil, err
		}
		if err := os.Rename(part, program); err != nil {
			return nil, err
		}
	}
	return programs, forget(all)
}

// forget removes the folders of all but the newest commits.
func forget(all string) error {
	entries, err := os.ReadDir(all)
	if err != nil {
		return err
	}
	age := func(e os.DirEntry) int64 {
		info, err := e.Info()
		if err != nil { // another process removed it
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(b), age(a)) })
	for _, e := range entries[min(mostKept, len(entries)):] {
		if err := os.RemoveAll(filepath.Join(all, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
