// Package pool exchanges members between islands that are separate processes, through a folder or by messages.
package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/messaging"
)

// Pool is where islands leave their best members, and from where they take those of others. It is a folder (New), or
// messages (Join). No island waits for another.
type Pool struct {
	medium medium
	island string
	// Members names the environment and the network of the members; others are skipped.
	Members string
	taken   map[string]bool // members that have arrived; see Member.id
	skipped map[string]bool // entries that were skipped, by name
	// Skipped are sentences about entries that could not be used.
	Skipped []string
	// Shares is the descent of each other island, by its newest entry that was read: shares by island.
	Shares map[string]map[string]float64
}

// medium carries entries between islands.
type medium interface {
	// open takes the island's name until close. The error is that of taken if another run has the name.
	open(ctx context.Context) error
	close() error
	// vacant returns an error if other islands would take members of an earlier run for those of this one.
	vacant() error
	leave(generation int64, tree any, metadata map[string]string) error
	// present is the number of other islands that were there when this one joined; 0 for a folder.
	present() int
	// connected reports whether members travel now, as far as the medium knows.
	connected() bool
	// tell says how far the island is.
	tell(done bool)
	// entries returns the entries of other islands, sorted by island, the newest of an island first.
	entries() []found
}

// taken returns the error of an island whose name another run has.
func taken(island string, at any) error {
	return &messaging.CodedError{Code: messaging.CodeRefused, Text: fmt.Sprintf("another run, which is under way, is "+
		"island %q at %s: give this one a name of its own by --island", island, at)}
}

// found is an entry of another island.
type found struct {
	island     string
	generation int64
	name       string // in messages
	open       func() (*safetensors.File, error)
}

// format changes when what an entry holds changes.
const format = "xlarun-migration-1"

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
	Genomes *graph.Array       // f32[k, n]
	Fitness *graph.Array       // f32[k]
	Descent *graph.Array       // f32[k, islands]
	Shares  map[string]float64 // descent of the island that they leave, by island
}

func newPool(m medium, island string) *Pool {
	return &Pool{medium: m, island: island, taken: map[string]bool{}, skipped: map[string]bool{},
		Shares: map[string]map[string]float64{}}
}

// Open checks that the island can leave members, and takes its name until Close. The error is a *messaging.CodedError
// if another run has the name.
func (p *Pool) Open(ctx context.Context) error { return p.medium.open(ctx) }

// Others returns the number of other islands that were there when this one joined by messages.
func (p *Pool) Others() int { return p.medium.present() }

// Connected reports whether members travel now: a message server may be away.
func (p *Pool) Connected() bool { return p.medium.connected() }

// Close gives the island's name back.
func (p *Pool) Close() error { return p.medium.close() }

// Note lets a message server know that the island has begun, or is done: one that ends by itself waits for it. It is
// written within a beat, when the server is there, and at the latest by Close.
func (p *Pool) Note(done bool) { p.medium.tell(done) }

// CheckVacant refuses a pool with members of an earlier run of this island, because other islands would take them for
// the newest ones.
func (p *Pool) CheckVacant() error { return p.medium.vacant() }

// Leave gives the other islands the members that leave in a generation. names are the islands of Entry.Descent, in
// order.
func (p *Pool) Leave(generation int64, e Entry, names []string) error {
	islands, err := json.Marshal(names)
	if err != nil {
		return err
	}
	shares, err := json.Marshal(e.Shares)
	if err != nil {
		return err
	}
	tree := map[string]*graph.Array{"genomes": e.Genomes, "fitness": e.Fitness, "descent": e.Descent}
	metadata, err := safetensors.WithDigest(tree, map[string]string{"format": format, "island": p.island,
		"generation": strconv.FormatInt(generation, 10), "members_of": p.Members, "islands": string(islands),
		"descent": string(shares)})
	if err != nil {
		return err
	}
	return p.medium.leave(generation, tree, metadata)
}

// Arrive returns up to count members, chosen at random from the newest entries of all other islands, without members
// that arrived before. size is the number of a member's parameters. An entry that cannot be used is skipped, and noted
// in Skipped once.
func (p *Pool) Arrive(count int, size int, draw *rand.Rand) []Member {
	var all []Member
	whole := "" // the island whose newest whole entry was read
	for _, e := range p.medium.entries() {
		if e.island == whole {
			continue
		}
		members, err := p.read(e, size)
		if err == nil {
			all, whole = append(all, members...), e.island
		} else if !p.skipped[e.name] {
			p.skipped[e.name] = true
			p.Skipped = append(p.Skipped, fmt.Sprintf("%s is skipped: %v", e.name, err))
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
func (p *Pool) read(e found, size int) (all []Member, err error) {
	island, generation := e.island, e.generation
	f, err := e.open()
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
	var shares map[string]float64
	// Entries of an earlier version have none.
	if err := json.Unmarshal([]byte(m["descent"]), &shares); err == nil && shares != nil {
		p.Shares[island] = shares
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
