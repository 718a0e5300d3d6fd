package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/internal/quantity"
	"xlarun/xlabridge/cache"
)

func cacheCommand(a *App) *cobra.Command {
	return Group("cache", "List, check and clear the compiled programs and the plans that are kept",
		cacheListCommand(a, "list", "List the compiled programs and the plans, the last used first",
			(*cache.Cache).List),
		cacheListCommand(a, "verify", "Read every compiled program and plan whole and say which are damaged",
			(*cache.Cache).Verify),
		cacheClearCommand(a), cachePruneCommand(a))
}

// openCache opens the cache of programs. Plans are in a folder beside it.
func openCache() (*cache.Cache, error) {
	dir, err := cache.DefaultDir()
	if err != nil {
		return nil, err
	}
	return cache.New(dir), nil
}

// cacheContent lists the programs and plans in the cache.
type cacheContent struct {
	Folder   string       `json:"folder"` // has the folders of programs and plans
	Bytes    int64        `json:"bytes"`
	Damaged  int          `json:"damaged"`           // that were found: only Verify reads the programs themselves
	Foreign  int          `json:"foreign,omitempty"` // of other users
	Entries  []cacheEntry `json:"entries"`           // the last used first
	programs tally
	plans    tally
}

type cacheEntry struct {
	Kind string `json:"kind"` // "program" or "plan"
	cache.Entry
}

// tally counts the entries of a kind, and their bytes.
type tally struct {
	entries int
	bytes   int64
}

// readCache lists the cache by (*cache.Cache).List or Verify.
func readCache(read func(*cache.Cache) ([]cache.Entry, error)) (cacheContent, error) {
	c, err := openCache()
	if err != nil {
		return cacheContent{}, err
	}
	k := cacheContent{Folder: filepath.Dir(c.Dir()), Entries: []cacheEntry{}}
	for _, x := range []struct {
		kind  string
		cache *cache.Cache
		tally *tally
	}{{"program", c, &k.programs}, {"plan", c.Plans(), &k.plans}} {
		entries, err := read(x.cache)
		if err != nil {
			return k, err
		}
		for _, e := range entries {
			k.Entries = append(k.Entries, cacheEntry{x.kind, e})
			x.tally.entries++
			x.tally.bytes += e.Bytes
			k.Bytes += e.Bytes
			if e.Defect != "" {
				k.Damaged++
			}
			if e.Foreign {
				k.Foreign++
			}
		}
	}
	sort.SliceStable(k.Entries, func(i, j int) bool { return k.Entries[i].LastUsed.After(k.Entries[j].LastUsed) })
	return k, nil
}

// sizesText returns "2 programs, 1.2 MB, and 1 plan, 700 B".
func sizesText(programs, plans tally) string {
	text := fmt.Sprintf("%s, %s", quantity.Count(programs.entries, "program", "programs"),
		display.Bytes(programs.bytes))
	if plans.entries > 0 {
		text += fmt.Sprintf(", and %s, %s", quantity.Count(plans.entries, "plan", "plans"), display.Bytes(plans.bytes))
	}
	return text
}

func cacheListCommand(a *App, name, short string, read func(*cache.Cache) ([]cache.Entry, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name, Short: short, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			k, err := readCache(read)
			if err != nil {
				return err
			}
			var damaged error
			if name == "verify" && k.Damaged > 0 {
				damaged = fmt.Errorf("%s damaged: programs are compiled and plans measured anew when next used, or "+
					"remove them with xlarun cache clear --damaged",
					quantity.Count(k.Damaged, "entry is", "entries are"))
			}
			if asJSON {
				return a.EndJSON(k, damaged)
			}
			return errors.Join(printCache(a, k, name == "verify"), damaged)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

// printCache prints a table of the entries, and what is wrong with them. verified means that they were read whole. The
// lines fit a terminal.
func printCache(a *App, k cacheContent, verified bool) error {
	if len(k.Entries) > 0 {
		table := newCacheTable(k.Entries, display.StyleOf(a.Getenv))
		for _, line := range table.lines(display.Width(a.Out, a.Getenv)) {
			if _, err := fmt.Fprintln(a.Out, line); err != nil {
				return err
			}
		}
	}
	for _, e := range k.Entries {
		if e.Defect != "" {
			fmt.Fprintf(a.Out, "damaged: %s (%s)\n", e.File, e.Defect)
		}
	}
	var states []string
	if k.Damaged > 0 {
		states = append(states, fmt.Sprintf("%d damaged", k.Damaged))
	} else if verified {
		states = append(states, "all well")
	}
	if k.Foreign > 0 {
		states = append(states, fmt.Sprintf("%d of other users", k.Foreign))
	}
	text := sizesText(k.programs, k.plans)
	if len(states) > 0 {
		text += "; " + strings.Join(states, ", ")
	}
	fmt.Fprintf(a.Out, "%s, in %s\n", text, k.Folder)
	return nil
}

func cacheClearCommand(a *App) *cobra.Command {
	var damaged bool
	cmd := &cobra.Command{
		Use: "clear", Short: "Remove all compiled programs and plans, except those of other users", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if damaged {
				return clearDamaged(a)
			}
			return prune(a, -1)
		},
	}
	cmd.Flags().BoolVar(&damaged, "damaged", false, "remove only those that are damaged")
	return cmd
}

// clearDamaged removes the entries that `xlarun cache verify` finds damaged.
func clearDamaged(a *App) error {
	c, err := openCache()
	if err != nil {
		return err
	}
	programs, err := c.ClearDamaged()
	plans, other := c.Plans().ClearDamaged()
	a.printRemoved(programs, plans)
	return errors.Join(err, other)
}

// printRemoved says what was removed from the cache.
func (a *App) printRemoved(programs, plans cache.Removed) {
	fmt.Fprintf(a.Out, "removed %s\n", sizesText(tally{programs.Entries, programs.Bytes},
		tally{plans.Entries, plans.Bytes}))
}

func cachePruneCommand(a *App) *cobra.Command {
	var limit string
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove the programs and plans used longest ago until the rest fits", Args: noArgs,
		Long: "Prune removes the programs and plans used longest ago until the rest takes at most --max. Whenever a " +
			"program is stored, the same " +
			"is done with " + cache.EnvMax + ", a size such as 500M or none, by default 2G.",
		RunE: func(*cobra.Command, []string) error {
			bytes, err := cache.ParseSize(limit)
			if err != nil {
				return console.BadInput("--max got %q, wants a size such as 500M or 2G", limit)
			}
			return prune(a, bytes)
		},
	}
	cmd.Flags().StringVar(&limit, "max", "2G", "what may stay, in bytes or with K, M, G, T")
	return cmd
}

// prune leaves at most limit bytes of programs and plans together.
func prune(a *App, limit int64) error {
	c, err := openCache()
	if err != nil {
		return err
	}
	removed, err := cache.Prune(limit, c, c.Plans())
	if err != nil {
		return err
	}
	a.printRemoved(removed[0], removed[1])
	return nil
}
