// Package pool exchanges members between islands that are separate processes, through a folder.
package pool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
)

// Pool is the folder migration_pool in the folder that islands share. An island writes its best members to
// island-NAME/gen-N/members.safetensors, under a temporary name first, so that an entry is complete or absent. It reads
// the entries of other islands that exist. No island waits for another.
type Pool struct {
	dir    string
	island string
	lock   *flock.Flock // of the island's name, while the pool is open
	// Members names the environment and the network of the members; others are skipped.
	Members string
	taken   map[string]bool // members that have arrived; see Member.id
	skipped map[string]bool // entries that were skipped, by path
	// Skipped are sentences about entries that could not be used.
	Skipped []string
}

const (
	folderName = "migration_pool"
	fileName   = "members.safetensors"
	// format changes when what an entry holds changes.
	format = "xlarun-migration-1"
	// largestEntry bounds the size of an entry that is read.
	largestEntry = 1 << 32
)

// Member is a member in the pool: its island, the generation in which it left, and its rank among the island's best.
type Member struct {
	From       string             `json:"from"`
	Generation int64              `json:"from_generation"`
	Place      int                `json:"place"`
	Fitness    float64            `json:"fitness"`
	Genome     []float32          `json:"-"`
	Descent    map[string]float64 `json:"-"` // shares by island
}

// Entry is the content of a file of the pool.
type Entry struct {
	Genomes *graph.Array // f32[k, n]
	Fitness *graph.Array // f32[k]
	Descent *graph.Array // f32[k, islands]
}

// New returns the pool in a folder that islands share.
func New(dir, island string) *Pool {
	return &Pool{dir: filepath.Join(dir, folderName), island: island, taken: map[string]bool{},
		skipped: map[string]bool{}}
}

func (p *Pool) entry(island string, generation int64) string {
	return filepath.Join(p.dir, "island-"+island, fmt.Sprintf("gen-%d", generation))
}

// Open makes the island's folder, checks that the island can write there, and takes its name until Close. The error is
// a *settings.Error if another run has the name.
func (p *Pool) Open() error {
	folder := filepath.Dir(p.entry(p.island, 0))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	try, err := os.MkdirTemp(folder, ".leaving-")
	if err != nil {
		return err
	}
	if err := os.Remove(try); err != nil {
		return err
	}
	p.lock = flock.New(filepath.Join(p.dir, ".lock-"+p.island))
	free, err := p.lock.TryLock()
	if err == nil && !free {
		err = settings.Wrong("island", p.island, "a name of its own: another run, which is under way, is this island "+
			"in %s", filepath.Dir(p.dir))
	}
	return err
}

// Close gives the island's name back.
func (p *Pool) Close() error {
	if p.lock == nil {
		return nil
	}
	return p.lock.Close()
}

// CheckVacant makes the island's folder. It refuses one with members of an earlier run, because other islands would
// take them for the newest ones.
func (p *Pool) CheckVacant() error {
	folder := filepath.Dir(p.entry(p.island, 0))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	left, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "gen-") }) {
		return settings.Wrong("island", p.island, "one that has left nobody yet, when a run begins: %s has members "+
			"of an earlier run; go on with it by --resume, remove the folder, or give another --migration-dir", folder)
	}
	return nil
}

// Leave writes the members that leave in a generation. names are the islands of Entry.Descent, in order.
func (p *Pool) Leave(generation int64, e Entry, names []string) (err error) {
	to := p.entry(p.island, generation)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(to), fmt.Sprintf(".leaving-%016x", rand.Uint64()))
	if err := os.Mkdir(temp, 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	islands, err := json.Marshal(names)
	if err != nil {
		return err
	}
	tree := map[string]*graph.Array{"genomes": e.Genomes, "fitness": e.Fitness, "descent": e.Descent}
	metadata, err := safetensors.WithDigest(tree, map[string]string{"format": format, "island": p.island,
		"generation": strconv.FormatInt(generation, 10),
		"members_of": p.Members, "islands": string(islands)})
	if err != nil {
		return err
	}
	if err := safetensors.Save(filepath.Join(temp, fileName), tree, metadata); err != nil {
		return err
	}
	// The entry exists if the run was resumed from an older checkpoint.
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(temp, to)
}

// Arrive returns up to count members, chosen at random from the newest entries of all other islands, without members
// that arrived before. size is the number of a member's parameters. An entry that cannot be used is skipped, and noted
// in Skipped once.
func (p *Pool) Arrive(count int, size int, draw *rand.Rand) []Member {
	folders, _ := os.ReadDir(p.dir) // absent until an island has written an entry
	var all []Member
	for _, f := range folders {
		name, ok := strings.CutPrefix(f.Name(), "island-")
		if !ok || name == p.island || !f.IsDir() {
			continue
		}
		generations, _ := os.ReadDir(filepath.Join(p.dir, f.Name()))
		var numbers []int64
		for _, g := range generations {
			if text, ok := strings.CutPrefix(g.Name(), "gen-"); ok {
				if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
					numbers = append(numbers, n)
				}
			}
		}
		slices.Sort(numbers)
		for _, n := range slices.Backward(numbers) { // the newest complete entry
			members, err := p.read(name, n, size)
			if err == nil {
				all = append(all, members...)
				break
			}
			if path := p.entry(name, n); !p.skipped[path] {
				p.skipped[path] = true
				p.Skipped = append(p.Skipped, fmt.Sprintf("%s is skipped: %v", path, err))
			}
		}
	}
	all = slices.DeleteFunc(all, func(t Member) bool { return p.taken[t.id()] })
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(count, len(all))]
	for _, t := range all {
		p.taken[t.id()] = true
	}
	return all
}

func (t Member) id() string { return fmt.Sprintf("%s/%d/%d", t.From, t.Generation, t.Place) }

// read reads an entry of another island, whose members must have size parameters.
func (p *Pool) read(island string, generation int64, size int) (all []Member, err error) {
	path := filepath.Join(p.entry(island, generation), fileName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestEntry {
		return nil, fmt.Errorf("it is no file of members")
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m := f.Metadata()
	if m["format"] != format {
		return nil, fmt.Errorf("its format is %q, this xlarun reads %q", m["format"], format)
	}
	if m["digest"] == "" {
		return nil, fmt.Errorf("it has no digest, so that nobody knows whether it is whole")
	}
	if err := f.CheckDigest(); err != nil {
		return nil, err
	}
	if m["island"] != island || m["generation"] != strconv.FormatInt(generation, 10) {
		return nil, fmt.Errorf("it says that it is generation %s of island %q: it has been moved or renamed",
			m["generation"], m["island"])
	}
	if m["members_of"] != p.Members {
		return nil, fmt.Errorf("its members are of %q, those of this run of %q", m["members_of"], p.Members)
	}
	var names []string
	if err := json.Unmarshal([]byte(m["islands"]), &names); err != nil {
		return nil, fmt.Errorf("its islands cannot be read: %w", err)
	}
	read := func(name string) (x []float64) {
		var a *graph.Array
		if err == nil {
			if a, err = f.Array(name); err == nil {
				x, err = graph.Floats(a)
			}
		}
		return x
	}
	fitness, genomes, descent := read("fitness"), read("genomes"), read("descent")
	if err != nil {
		return nil, err
	}
	k := len(fitness)
	if len(genomes) != k*size || len(descent) != k*len(names) {
		return nil, fmt.Errorf("it has %d numbers of %d members, whose networks have %d parameters here", len(genomes),
			k, size)
	}
	for i, x := range fitness {
		genome := make([]float32, size)
		bad := math.IsNaN(x) || math.IsInf(x, 0)
		for j := range genome {
			genome[j] = float32(genomes[i*size+j])
			bad = bad || genome[j]-genome[j] != 0
		}
		if bad {
			continue // an empty place, or parameters that are not finite
		}
		t := Member{From: island, Generation: generation, Place: i, Fitness: x, Genome: genome,
			Descent: map[string]float64{}}
		for j, name := range names {
			if share := descent[i*len(names)+j]; share > 0 {
				t.Descent[name] += share
			}
		}
		all = append(all, t)
	}
	return all, nil
}
