package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"xlarun/rollout/evolve"
	"xlarun/third_party/fetch"
)

// startTimes are the seconds from a process's start to the end of its first generation.
type startTimes struct {
	cold, warm float64
	peaks      startPeaks
}

// startPeaks are the most resident bytes of the two processes, by their own account.
type startPeaks struct{ cold, warm int64 }

// startSeconds runs this program twice for one generation, with a cache of programs that is empty at first. The
// plugin is the one that is installed.
func (b *bench) startSeconds(ctx context.Context, c evolve.Config) (startTimes, error) {
	self, err := os.Executable()
	if err != nil {
		return startTimes{}, err
	}
	scratch, err := os.MkdirTemp("", "xlarun-bench-*")
	if err != nil {
		return startTimes{}, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := emptyCache(scratch); err != nil {
		return startTimes{}, err
	}
	args := []string{"evolve", c.Env, "--pop", strconv.Itoa(c.Population), "--policy", c.Policy, "--steps", strconv.Itoa(c.Steps),
		"--generations", "1", "--target", "0", "--out", "none", "--json", "--backend", b.flags.backend, "--devices", strconv.Itoa(b.flags.devices)}
	if b.flags.plugin != "" {
		args = append(args, "--plugin", b.flags.plugin)
	}
	var t startTimes
	for _, run := range []struct {
		seconds *float64
		peak    *int64
		cache   string
	}{{&t.cold, &t.peaks.cold, "miss"}, {&t.warm, &t.peaks.warm, "hit"}} {
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Env = append(os.Environ(), fetch.EnvCache+"="+scratch)
		result, err := lastLine(cmd)
		if err != nil {
			return startTimes{}, err
		}
		if result.Cache != run.cache {
			return startTimes{}, fmt.Errorf("a process that should have reported a cache %s reported %q", run.cache, result.Cache)
		}
		*run.seconds, *run.peak = result.TimeToFirst, result.PeakMemoryBytes
	}
	return t, nil
}

// emptyCache makes dir a cache folder that has the installed plugins but no programs.
func emptyCache(dir string) error {
	folder, err := fetch.CacheDir()
	if err != nil {
		return err
	}
	plugins := filepath.Join(folder, "plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	return os.Symlink(plugins, filepath.Join(dir, "plugins"))
}

// lastLine runs the evolve command and reads its result.
func lastLine(cmd *exec.Cmd) (evolveResult, error) {
	var result evolveResult
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return result, fmt.Errorf("a process of our own failed: %s", strings.TrimSpace(string(exit.Stderr)))
		}
		return result, err
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &result); err != nil {
		return result, fmt.Errorf("a process of our own ended with %q, not with a line of JSON", lines[len(lines)-1])
	}
	return result, nil
}
