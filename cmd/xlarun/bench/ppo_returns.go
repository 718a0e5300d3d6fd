package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
)

// ppoReturns is what trainings of several seeds have come to.
type ppoReturns struct {
	Name string `json:"name"`
	// Ours and Theirs are the mean returns of the episodes at the end of each training: of the last updates that the peer prints.
	Ours   []float64 `json:"ours"`
	Theirs []float64 `json:"theirs"`
}

// returns trains both sides by so many seeds, and compares what they come to at equal steps.
func (b *ppoBench) returns(ctx context.Context, w ppoWorkload) (r ppoReturns, err error) {
	r.Name = w.name
	dir, err := os.MkdirTemp("", "returns")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for seed := range b.flags.repeats {
		out := filepath.Join(dir, strconv.Itoa(seed))
		cmd, err := ownProcess(ctx, b.flags.BackendFlags, "", append(append([]string{"ppo"}, strings.Fields(w.args)...), "--target", "0", "--judge", "1", "--seed", strconv.Itoa(seed), "--out", out)...)
		if err != nil {
			return r, err
		}
		if _, err = outputOf(cmd); err != nil {
			return r, fmt.Errorf("a process of our own failed: %w", err)
		}
		text, err := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
		if err != nil {
			return r, err
		}
		mine, err := finalReturn(text, w.last)
		if err != nil {
			return r, err
		}
		peer := exec.CommandContext(ctx, b.peer.python, append([]string{filepath.Join(b.peer.scripts, "peers", w.script)}, append(strings.Fields(w.scriptArgs), strconv.Itoa(seed))...)...)
		peer.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
		printed, err := outputOf(peer)
		if err != nil {
			return r, fmt.Errorf("the peer %s failed: %w", w.script, err)
		}
		theirs, err := parseReturn(w.script, printed)
		if err != nil {
			return r, err
		}
		r.Ours, r.Theirs = append(r.Ours, mine), append(r.Theirs, theirs)
		fmt.Fprintf(b.Out, "%s, seed %d: return %.4g, the peer's %.4g\n", w.name, seed, mine, theirs)
	}
	text := func(all []float64) string {
		mean, deviation := 0., 0.
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			deviation += (x - mean) * (x - mean)
		}
		if n := float64(len(all)); n > 1 {
			return fmt.Sprintf("%.4g ± %.2g", mean, math.Sqrt(deviation/(n-1)/n))
		}
		return fmt.Sprintf("%.4g", mean)
	}
	fmt.Fprintf(b.Out, "%s: mean return %s over %s, the peer's %s\n", w.name, text(r.Ours), console.Count(len(r.Ours), "seed", "seeds"), text(r.Theirs))
	return r, nil
}

// finalReturn is the mean return of the last updates of a run with these metrics, in which episodes ended; with 0 of the last tenth's episodes.
func finalReturn(metrics []byte, last int) (float64, error) {
	type update struct {
		Episodes float64
		Mean     *float64 `json:"mean_return"`
	}
	var all []update
	for line := range bytes.Lines(metrics) {
		var u update
		if err := json.Unmarshal(line, &u); err != nil {
			return 0, err
		}
		all = append(all, u)
	}
	weigh := last == 0
	if weigh {
		last = (len(all) + 9) / 10
	}
	sum, weight := 0., 0.
	for _, u := range all[max(0, len(all)-last):] {
		if u.Mean == nil {
			continue
		}
		w := 1.
		if weigh {
			w = u.Episodes
		}
		sum, weight = sum+w**u.Mean, weight+w
	}
	if weight == 0 {
		return 0, fmt.Errorf("no episode ended in the last %d of %d updates: train for longer", last, len(all))
	}
	return sum / weight, nil
}

// ppoReturn finds what the peers come to in what they print.
var ppoReturn = regexp.MustCompile(`(?m)(?:; last 5 updates |^mean return by tenth of the training: .* )(-?[0-9.]+)$`)

func parseReturn(script, out string) (float64, error) {
	m := ppoReturn.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the peer %s printed %q, which holds no return", script, out)
	}
	return strconv.ParseFloat(m[1], 64)
}
