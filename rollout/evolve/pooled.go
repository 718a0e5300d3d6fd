package evolve

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/messaging"
	"xlarun/internal/quantity"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/pool"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// pooled is the feature of a run that is one of several islands. Each is a process of its own, and they share a folder
// or a message server; see pool.Pool. Results depend on when the other islands write, so two such runs are not equal to
// the byte.
type pooled struct {
	idle
	config *Config
	pool   *pool.Pool
	// islands are the names of the islands by number: this one first, then in the order of their first arrival.
	islands []string
	arrived []arrival
	shares  map[string]float64 // descent of this island when its files were made last
	size    int                // parameters of a member
	started bool               // this process has run a generation
	taken   float64            // immigrants that were taken in, since the run began, when its files were made last
	server  string             // "": the islands share a folder
	outage  outage
}

// arrival is a member that arrived.
type arrival struct {
	Generation int64 `json:"generation"` // after which it arrived
	pool.Member
}

const (
	// poolIslands is the number of islands with shares of their own. The last one stands for all further islands.
	poolIslands = 64
	// poolNames is the array with their names in a snapshot.
	poolPrefix = "pool."
	poolNames  = poolPrefix + "names"
	// longestIsland is the largest length of an island's name.
	longestIsland = 63
	// otherIslands is the name of the islands without shares of their own.
	otherIslands = "others"
)

var islandName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// PoolSettings make a run one of several islands, each a process of its own, that share a folder, or a message server
// by HostSettings.Join; see pool.Pool.
type PoolSettings struct {
	// Island is the name of this run among the islands; "": it is not an island.
	Island       string `set:"island" program:"no" help:"name of this run among the islands that share --migration-dir or --join"`
	MigrationDir string `set:"migration-dir" program:"no" resume:"any" path:"local" help:"folder that islands, runs of their own, share: through it their best members travel"`

	generation.MigrationSettings `needs:"island=!"`
}

// checkPool checks the settings of a run that is an island.
func (c *Config) checkPool() error {
	if c.Island == "" {
		if c.MigrationDir != "" {
			return settings.Wrong("migration-dir", c.MigrationDir, "--island with it, the name of this run among "+
				"those that share the folder")
		}
		return nil
	}
	switch {
	case !islandName.MatchString(c.Island) || len(c.Island) > longestIsland || c.Island == otherIslands:
		return settings.Wrong("island", c.Island, "a name of up to %d letters, digits, dots, dashes and underscores, "+
			"such as 01", longestIsland)
	case c.MigrationDir != "" && c.Join != "":
		return settings.Wrong("migration-dir", c.MigrationDir, "no --join with it: members travel by one of them")
	case c.Hosts != 0 || c.Chunks != 0:
		return settings.Wrong("island", c.Island, "no --hosts and --chunks with it: they are for hosts that compute "+
			"one population")
	case c.MigrateEvery < 1:
		return settings.Wrong("migrate-every", c.MigrateEvery, "1 or more, for an island that shares a folder")
	}
	return nil
}

// checkMedium checks that members of an island can travel. It is not for the config in a run's folder, which names no
// server.
func (c *Config) checkMedium() error {
	if c.Island != "" && c.MigrationDir == "" && c.Join == "" {
		return settings.Wrong("island", c.Island, "--migration-dir with it, the folder that the islands share, or "+
			"--join, the server that carries their members")
	}
	return nil
}

// key returns the run's key. It depends on the seed and the island's name, so that islands of one seed differ.
func (c *Config) key() random.Key {
	key := random.New(c.Seed)
	if c.Island == "" {
		return key
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Island))
	return random.FoldIn(key, int32(h.Sum32()&math.MaxInt32))
}

// openPool opens the pool and takes the island's name until the pool is closed.
func (c *Config) openPool(ctx context.Context) (*pool.Pool, error) {
	if c.Join != "" {
		return c.joinPool(ctx)
	}
	if err := c.checkMedium(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.MigrationDir, 0o777); err != nil {
		return nil, settings.Wrong("migration-dir", c.MigrationDir, "a folder that can be written to: %v", err)
	}
	shared := pool.New(c.MigrationDir, c.Island)
	if err := shared.Open(ctx); err != nil {
		_ = shared.Close()
		if errors.As(err, new(*messaging.CodedError)) {
			return nil, err
		}
		return nil, settings.Wrong("migration-dir", c.MigrationDir, "a folder in which the island can write: %v", err)
	}
	return shared, nil
}

// joinPool is openPool for islands that exchange members by messages.
func (c *Config) joinPool(ctx context.Context) (*pool.Pool, error) {
	server, err := c.server()
	if err != nil {
		return nil, err
	}
	shared := pool.Join(server, c.Island)
	if err := shared.Open(ctx); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return shared, nil
}

// tryPool checks that the pool can be opened and, for a new run, that the island has left nobody there. The run takes
// the island's name when it starts: only then does nobody else start under it.
func (c *Config) tryPool(ctx context.Context, resumed bool, p run.Progress) error {
	if c.Join != "" {
		if err := c.waitForServer(ctx, p); err != nil {
			return err
		}
	}
	shared, err := c.openPool(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = shared.Close() }()
	if resumed {
		return nil
	}
	return shared.CheckVacant()
}

func openIsland(ctx context.Context, e *Evolution) (feature, error) {
	c := &e.config
	network, err := c.network()
	if err != nil {
		return nil, err
	}
	shared, err := c.openPool(ctx)
	if err != nil {
		return nil, err
	}
	p := &pooled{config: c, pool: shared, islands: []string{c.Island}, size: e.program.Genomes.Size()}
	shared.Members = fmt.Sprintf("%s, %s, %d parameters", c.Env, network, p.size)
	if c.Join != "" {
		s, _ := c.server() // it is joined
		p.server = s.String()
		if phase := c.called().Phase; phase != nil {
			phase(fmt.Sprintf("joined %s as island %s: %s", s.Full(), c.Island, quantity.Count(shared.Others(),
				"other island", "other islands")))
		}
	}
	return p, nil
}

// network returns the policy's name and those of its settings that are not the defaults, however they were given.
func (c *Config) network() (string, error) {
	text := settings.Choice(c.Policy)
	maker, err := policy.MakerOf(c.Policy, c.Parted.Under("policy."))
	if err != nil {
		return "", err
	}
	usual, err := policy.MakerOf(text, nil)
	if err != nil {
		return "", err
	}
	for _, f := range settings.Fields(maker) {
		if u, ok := settings.Lookup(usual, f.Name); !ok || u.Text() != f.Text() {
			text += fmt.Sprintf(" %s=%s", f.Name, f.Text())
		}
	}
	return text, nil
}

// close frees the island's name.
func (p *pooled) close() error { return p.pool.Close() }

// begin checks that a new run takes nobody's place.
func (p *pooled) begin(ctx context.Context, e *Evolution) (*run.Metrics, error) {
	var err error
	if !p.started && e.Steps() == 0 {
		err = p.pool.CheckVacant()
	}
	if !p.started && err == nil {
		p.pool.Note(false)
	}
	p.started = true
	return nil, err
}

// after lets members leave and arrive, every MigrateEvery generations.
func (p *pooled) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	if m.Failed == nil && e.Steps()%int64(p.config.MigrateEvery) == 0 {
		if err := p.migrate(ctx, e); err != nil {
			return err
		}
	}
	m.Values = append(m.Values, run.Value{Name: "arrived", Number: float64(len(p.arrived))})
	m.Notices = append(m.Notices, p.outage.update(p.pool.Connected(), p.server, "this island goes on alone",
		"it exchanges members again", time.Now())...)
	if m.Over(p.config.Last()) {
		p.pool.Note(true)
	}
	return nil
}

// migrate writes the best members of the last generation to the pool, and puts members of other islands into the state
// for the next generation.
func (p *pooled) migrate(ctx context.Context, e *Evolution) error {
	s, err := e.Loop.Snapshot(ctx)
	if err != nil {
		return err
	}
	leaving := func(name string) *graph.Array { return s.Arrays["migration.leaving."+name] }
	names := append([]string{}, p.islands...)
	for len(names) < poolIslands {
		names = append(names, otherIslands)
	}
	shares, _, err := p.descended(s)
	if err != nil {
		return err
	}
	entry := pool.Entry{Shares: shares, Genomes: leaving("genomes"), Fitness: leaving("fitness"),
		Descent: leaving("descent")}
	if err := p.pool.Leave(s.Step, entry, names); err != nil {
		return err
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.config.Island))
	draw := rand.New(rand.NewPCG(uint64(p.config.Seed)^h.Sum64(), uint64(s.Step)))
	immigrants := p.pool.Arrive(p.config.Migrants, p.size, draw)
	if len(immigrants) == 0 {
		return nil
	}
	k := p.config.Migrants
	genomes, descent := make([]float32, k*p.size), make([]float32, k*poolIslands)
	fitness, from := slices.Repeat([]float32{float32(math.Inf(-1))}, k), make([]int32, k)
	for i, t := range immigrants {
		copy(genomes[i*p.size:], t.Genome)
		fitness[i], from[i] = float32(t.Fitness), int32(p.number(t.From))
		for name, share := range t.Descent {
			descent[i*poolIslands+p.number(name)] += float32(share)
		}
		p.arrived = append(p.arrived, arrival{s.Step, t})
	}
	maps.Copy(s.Arrays, map[string]*graph.Array{
		"migration.arriving.genomes": graph.Float32s(genomes, k, p.size),
		"migration.arriving.fitness": graph.Float32s(fitness),
		"migration.arriving.from":    graph.Int32s(from),
		"migration.arriving.descent": graph.Float32s(descent, k, poolIslands),
	})
	return e.Loop.Restore(ctx, s)
}

// number returns the number of an island among the shares.
func (p *pooled) number(name string) int {
	if i := slices.Index(p.islands, name); i >= 0 {
		return i
	}
	if name == otherIslands || len(p.islands) == poolIslands-1 {
		return poolIslands - 1
	}
	p.islands = append(p.islands, name)
	return len(p.islands) - 1
}

// save adds the islands' names.
func (p *pooled) save(arrays map[string]*graph.Array) {
	text := make([]int32, poolIslands*longestIsland)
	for i, name := range p.islands {
		for j, letter := range []byte(name[:min(len(name), longestIsland)]) {
			text[i*longestIsland+j] = int32(letter)
		}
	}
	arrays[poolNames] = graph.Int32s(text, poolIslands, longestIsland)
}

// load takes the islands' names. Members that arrived after the snapshot may arrive again.
func (p *pooled) load(s run.Snapshot) (other bool, err error) {
	a, ok := s.Arrays[poolNames]
	if !ok || a.Size() != poolIslands*longestIsland {
		return false, settings.Wrong("island", p.config.Island, "a state of an island: restore what the same "+
			"settings made")
	}
	text, err := graph.Floats(a)
	if err != nil {
		return false, err
	}
	var names []string
	for i := range poolIslands {
		var b strings.Builder
		for _, letter := range text[i*longestIsland:][:longestIsland] {
			if letter > 0 {
				b.WriteByte(byte(letter))
			}
		}
		if b.Len() > 0 {
			names = append(names, b.String())
		}
	}
	if len(names) == 0 || names[0] != p.config.Island {
		return false, settings.Wrong("island", p.config.Island, "the island that the state is of: restore what the "+
			"same settings made")
	}
	p.islands, p.arrived = names, nil
	return false, nil
}

// descended returns each island's share of a snapshot's descent, and the immigrants of each that were taken in.
func (p *pooled) descended(s run.Snapshot) (descent, taken map[string]float64, err error) {
	shares, err := graph.Floats(s.Arrays["migration.descent"])
	if err != nil {
		return nil, nil, err
	}
	counts, err := graph.Floats(s.Arrays["migration.taken"])
	if err != nil {
		return nil, nil, err
	}
	descent, taken = map[string]float64{}, map[string]float64{}
	places := len(shares) / poolIslands
	for i := range poolIslands {
		name := otherIslands
		if i < len(p.islands) {
			name = p.islands[i]
		}
		sum := 0.
		for place := range places {
			sum += shares[place*poolIslands+i] / float64(places)
		}
		if sum > 0 {
			descent[name] = sum
		}
		if counts[i] > 0 {
			taken[name] = counts[i]
		}
	}
	return descent, taken, nil
}

// files returns migration.json: descent and arrivals.
func (p *pooled) files(s run.Snapshot) ([]run.File, error) {
	descent, taken, err := p.descended(s)
	if err != nil {
		return nil, err
	}
	arrived := p.arrived
	if arrived == nil {
		arrived = []arrival{}
	}
	p.shares, p.taken = descent, 0
	for _, n := range taken {
		p.taken += n
	}
	return []run.File{{Name: "migration.json", JSON: map[string]any{"island": p.config.Island, "descent": descent,
		"descent_of_all": p.ofAll(), "immigrants": taken, "arrived": arrived,
		"skipped": append([]string{}, p.pool.Skipped...)}}}, nil
}

// ofAll returns the mean of the descent of all islands: of this one as it is in the files, of each other one as it was
// in its newest entry that this one read.
func (p *pooled) ofAll() map[string]float64 {
	all := []map[string]float64{p.shares}
	for _, island := range slices.Sorted(maps.Keys(p.pool.Shares)) { // sums in one order
		all = append(all, p.pool.Shares[island])
	}
	mean := map[string]float64{}
	for _, shares := range all {
		for name, share := range shares {
			mean[name] += share / float64(len(all))
		}
	}
	return mean
}

func (p *pooled) ending(*Evolution, run.Metrics) string {
	text := fmt.Sprintf("; %s come from other islands since this start, and %.0f in all were taken in",
		quantity.Count(len(p.arrived), "member has", "members have"), p.taken)
	if n := len(p.pool.Skipped); n > 0 {
		text += fmt.Sprintf(", %s of the pool skipped: %s", quantity.Count(n, "entry", "entries"), p.pool.Skipped[n-1])
	}
	return text
}
