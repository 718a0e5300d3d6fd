package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"xlarun/rollout/evolve"
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
	cache, remove, err := scratchCache()
	if err != nil {
		return startTimes{}, err
	}
	defer remove()
	args := append(startArgs(c), "--json", "--devices", strconv.Itoa(b.flags.Devices))
	var t startTimes
	for _, run := range []struct {
		seconds *float64
		peak    *int64
		found   string
	}{{&t.cold, &t.peaks.cold, "miss"}, {&t.warm, &t.peaks.warm, "hit"}} {
		cmd, err := ownProcess(ctx, b.flags.BackendFlags, cache, args...)
		if err != nil {
			return startTimes{}, err
		}
		result, err := lastLine(cmd)
		if err != nil {
			return startTimes{}, err
		}
		if result.Cache != run.found {
			return startTimes{}, fmt.Errorf("a process that should have reported a cache %s reported %q", run.found, result.Cache)
		}
		*run.seconds, *run.peak = result.TimeToFirst, result.PeakMemoryBytes
	}
	return t, nil
}

// startArgs is a command line that starts an experiment and ends after its first generation.
func startArgs(c evolve.Config) []string {
	return []string{"evolve", c.Env, "--pop", strconv.Itoa(c.Population), "--policy", c.Policy, "--steps", strconv.Itoa(c.Steps),
		"--generations", "1", "--target", "0", "--out", "none"}
}

// evolveResult is what is read of the line that evolve --json ends with.
type evolveResult struct {
	Cache           string  `json:"cache"`
	TimeToFirst     float64 `json:"time_to_first_generation_seconds"`
	PeakMemoryBytes int64   `json:"peak_memory_bytes"`
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
