package evolve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/hosts"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// HostSettings make a run one of several hosts that compute one population; see package hosts. Results do not depend
// on them.
type HostSettings struct {
	Join     string `set:"join" program:"no" resume:"any" help:"nats://HOST:PORT/NAME: compute one population with all hosts that give the same server and name; with --island, exchange members with all islands that do. @FILE:NAME: the address is in a file"`
	Wait     string `set:"wait" program:"no" resume:"any" needs:"join=!" number:"" help:"time to wait for a server, and then for --hosts, before the run ends with status 3"`
	AloneFor string `set:"alone-for" program:"no" resume:"any" needs:"join=!" number:"" help:"time without the server after which a host saves its state and ends with status 3; 0s: wait for it, for --wait, then status 3; forever: go on alone"`
	Hosts    int    `set:"hosts" program:"no" resume:"any" min:"1" max:"4096" zero:"1" needs:"join=!" help:"hosts that must have joined before the first generation; a run that is resumed waits for them 30 s at most"`
	Chunks   int    `set:"chunks" program:"no" resume:"any" min:"1" max:"65536" zero:"64" needs:"join=!" help:"chunks of a generation, of one tile at least, that hosts compute one by one; several for each host; 0 for 64"`

	credentials.Files `needs:"join=!"`
}

// hosted reports whether the run is one of several hosts that compute one population.
func (c *Config) hosted() bool { return c.Join != "" && c.Island == "" }

// server returns the server of HostSettings.Join, with the name of the run, and what this process shows to it. Errors
// are *settings.Error and *credentials.Error.
func (h *HostSettings) server() (s messaging.Server, err error) {
	if s.Address, err = messaging.Parse(h.Join); err != nil {
		return s, settings.Wrong("join", h.Join, "%v", err)
	}
	s.Name = cmp.Or(s.Name, messaging.DefaultName)
	if s.Wait, err = timeOf("wait", h.Wait, "a time such as 10m, or 0s"); err != nil {
		return s, err
	}
	err = s.Use(h.Files, credentials.Worker)
	return s, err
}

// timeOf parses a time, of 0 or more.
func timeOf(setting, text, wants string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, settings.Wrong(setting, text, "%s", wants)
	}
	return d, nil
}

// forever is the value of HostSettings.AloneFor without an end.
const forever = "forever"

// alone returns HostSettings.AloneFor.
func (h *HostSettings) alone() (time.Duration, error) {
	if h.AloneFor == forever {
		return math.MaxInt64, nil
	}
	return timeOf("alone-for", h.AloneFor, "a time such as 10m, 0s or forever")
}

// waitForServer waits until the server of HostSettings.Join answers, before anything that takes time. A run whose
// address file says so is over.
func (c *Config) waitForServer(ctx context.Context, p run.Progress) error {
	s, err := c.server()
	if err != nil {
		return err
	}
	s.OnUnreachable = func(since time.Duration) {
		p.Notice(fmt.Sprintf("nobody answers at %s since %v: does xlarun serve run there, and can this machine reach "+
			"it? This run waits until %v have passed", s.Address, since.Round(time.Second), s.Wait))
	}
	conn, err := s.Connect(ctx, s.Name)
	if errors.Is(err, messaging.ErrOver) {
		return &hosts.OverError{}
	}
	if err == nil {
		conn.Close()
	}
	return err
}

// checkHosts checks the settings of a run that is a host.
func (c *Config) checkHosts() error {
	if c.Join == "" {
		return nil
	}
	_, err := c.server()
	if err == nil {
		_, err = c.alone()
	}
	return err
}

// hosted is the feature of a run whose population several hosts compute. Its metrics are equal to the byte to those of
// the same search on one host.
type hosted struct {
	idle
	run       *Evolution
	process   *hosts.Process
	hosts     int // to wait for
	ready     bool
	leads     bool           // this host computes the generation alone
	history   []roundMetrics // metrics of the newest rounds that this process knows
	lastStats hosts.Stats
	shares    []float64 // of the chunks, in the newest generations; at most shareWindow
	others    attendance
	server    messaging.Server
	alone     time.Duration // without the server
	waited    time.Duration // for the server, in this generation
}

// roundMetrics are the metrics of a round, as a message has them.
type roundMetrics struct {
	Step          int64
	Work          float64
	Values        []run.Value
	Done, Stalled bool
}

func (p roundMetrics) metrics() run.Metrics {
	return run.Metrics{Step: p.Step, Work: p.Work, Values: p.Values, Done: p.Done, Stalled: p.Stalled}
}

func openHosts(ctx context.Context, e *Evolution) (feature, error) {
	server, err := e.config.server()
	if err != nil {
		return nil, err
	}
	h := &hosted{run: e, hosts: max(1, e.config.Hosts), server: server}
	if h.alone, err = e.config.alone(); err != nil {
		return nil, err
	}
	identity, err := h.identity(e.backend, &e.config)
	if err == nil {
		h.process, err = hosts.Join(ctx, hostID(), identity, 0, hosts.On(server))
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// hostID returns a name of this process.
func hostID() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s-%d-%04x", host, os.Getpid(), rand.IntN(1<<16))
}

// identity returns the settings that the bytes of the run depend on, with those of the chosen parts. Whether a setting
// was given or is a default does not matter: the config of a run that is resumed gives all of them.
func (c *Config) identity() hosts.Identity {
	id := hosts.Identity{}
	add := func(prefix string, fields []settings.Field) {
		for _, f := range fields {
			if !f.MayChange() && f.Name != "devices" {
				id[prefix+f.Name] = f.Text()
			}
		}
	}
	add("", settings.Fields(c))
	for _, part := range settings.ChosenParts(c) {
		add(part.Name+".", settings.Fields(part.Settings))
	}
	return id
}

// identity returns what the bytes of the run depend on. It computes a chunk of the first generation, which sees other
// episodes, but not another update, whose program depends on the number of devices: that the version is for.
func (h *hosted) identity(b xlabridge.Backend, c *Config) (hosts.Identity, error) {
	e := h.run
	id := c.identity()
	id["backend"], id["chunk"] = b.Backend(), fmt.Sprint(e.chunk.each)
	id[hosts.ProtocolKey], id[hosts.VersionKey] = hosts.Protocol, c.called().Version
	if client, ok := b.(*xlabridge.Client); ok {
		id[hosts.PluginKey] = digest([]byte(client.Fingerprint()))
	}
	for name, value := range e.setup.Chosen() {
		id[name] = fmt.Sprint(value)
	}
	rows, err := e.chunk.compute([]int{0}, e.profile.Devices)
	if err != nil {
		return nil, err
	}
	id[hosts.ProbeKey] = digest(rows[0])
	return id, nil
}

// digest returns a short digest.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// worker computes chunks for a host.
type worker struct{ *hosted }

func (w worker) Compute(chunks []int) ([][]byte, error) {
	e := w.run
	return e.chunk.compute(chunks, e.profile.Devices)
}

// checkpoint is what a host that is behind gets: a state, and the metrics of the rounds that it lacks.
type checkpoint struct {
	Arrays  []byte // safetensors
	History []roundMetrics
}

func (w worker) State(ctx context.Context, after int64) ([]byte, error) {
	s, err := w.run.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var arrays, out bytes.Buffer
	if err := safetensors.Write(&arrays, s.Arrays, nil); err != nil {
		return nil, err
	}
	from := slices.IndexFunc(w.history, func(p roundMetrics) bool { return p.Step > after })
	if from < 0 {
		from = len(w.history)
	}
	err = gob.NewEncoder(&out).Encode(checkpoint{arrays.Bytes(), w.history[from:]})
	return out.Bytes(), err
}

// restore goes on from another host's state. It returns the metrics that this process has not had.
func (h *hosted) restore(ctx context.Context, s *hosts.Checkpoint) ([]run.Metrics, error) {
	var t checkpoint
	fail := func(err error) ([]run.Metrics, error) {
		return nil, fmt.Errorf("the state of host %s after generation %d: %w", s.From, s.Generation, err)
	}
	if err := gob.NewDecoder(bytes.NewReader(s.Data)).Decode(&t); err != nil {
		return fail(err)
	}
	f, err := safetensors.New(bytes.NewReader(t.Arrays), int64(len(t.Arrays)))
	if err != nil {
		return fail(err)
	}
	snapshot := run.Snapshot{Step: s.Generation, Arrays: map[string]*graph.Array{}}
	for _, name := range f.Names() {
		if snapshot.Arrays[name], err = f.Array(name); err != nil {
			return fail(err)
		}
	}
	done := h.run.Steps()
	if err := h.run.Restore(context.WithoutCancel(ctx), snapshot); err != nil {
		return fail(err)
	}
	if len(t.History) > 0 { // the other host may have fewer of the first ones
		i := slices.IndexFunc(h.history, func(p roundMetrics) bool { return p.Step >= t.History[0].Step })
		if i < 0 {
			i = len(h.history)
		}
		h.history = append(slices.Clone(h.history[:i]), t.History...)
	}
	var earlier []run.Metrics
	for _, p := range t.History {
		if p.Step > done {
			m := p.metrics()
			m.Skipped = p.Step - done - 1 // rows that the other host's folder does not keep
			earlier = append(earlier, m)
			done = p.Step
		}
	}
	return earlier, nil
}

// begin computes the rows of a generation with the other hosts. If they are further on, it takes their state.
func (h *hosted) begin(ctx context.Context, e *Evolution) (*run.Metrics, error) {
	if !h.ready {
		if err := h.process.WaitFor(ctx, h.hosts, h.server.Wait, h.goal(), e.config.called().Notice); err != nil {
			return nil, err
		}
	}
	if phase := e.config.called().Phase; !h.ready && phase != nil {
		phase(h.joined())
	}
	h.ready = true
	began := time.Now()
	err := h.process.Reach(ctx, h.alone, h.server.Wait)
	h.waited = time.Since(began)
	if err != nil {
		if errors.As(err, new(*hosts.OverError)) {
			err = &run.StopError{Err: err}
		}
		if away, ok := errors.AsType[*hosts.AwayError](err); ok {
			err = &run.StopError{Err: fmt.Errorf("%w at %s: %s", away, h.server.Address, h.limit())}
		}
		return &run.Metrics{Waited: h.waited}, err
	}
	for {
		rows, state, err := h.process.Round(ctx, e.chunk.chunks(), e.profile.Devices, worker{h})
		if err != nil {
			return nil, h.named(err)
		}
		h.leads = rows == nil && state == nil
		if err := e.playAlone(h.leads); err != nil || h.leads {
			return nil, err
		}
		if state == nil {
			joined, err := e.chunk.joined(rows)
			if err != nil {
				return nil, err
			}
			return nil, e.SetInputs(joined)
		}
		rounds, err := h.restore(ctx, state)
		if err != nil {
			return nil, err
		}
		if n := len(rounds); n > 0 { // these rounds are done
			for _, m := range rounds {
				e.newest.Note(m)
			}
			m := rounds[n-1]
			m.Earlier = rounds[:n-1]
			h.report(&m)
			return &m, nil
		}
	}
}

// joined says what this host has joined.
func (h *hosted) joined() string {
	p := h.process.Presence()
	h.others.alive = p.Hosts // report tells who else comes
	return fmt.Sprintf("joined %s as host %s: generation %d, %s", h.server.Full(), h.process.ID(), h.process.Newest(),
		quantity.Count(len(p.Hosts), "host", "hosts"))
}

// limit names the setting that ended the wait for the server.
func (h *hosted) limit() string {
	if h.alone == 0 {
		return fmt.Sprintf("with --alone-for 0s it waits for --wait, which is %v", h.server.Wait)
	}
	return "--alone-for says how long a host goes on without its server"
}

// after keeps the metrics for hosts that join late, and tells the others when the run is over.
func (h *hosted) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	h.history = kept(append(h.history, roundMetrics{m.Step, m.Work, m.Values, m.Done, m.Stalled}), keptRounds)
	if h.leads {
		h.process.Led()
	}
	h.report(m)
	if m.Over(e.config.Last()) {
		h.process.Over(h.goal())
		return h.process.Last(ctx, worker{h})
	}
	return nil
}

// earlier returns what takes the rounds that a resumed run's folder has: the hosts that were behind when all were
// stopped lack some of them.
func (h *hosted) earlier() func(rounds []run.Metrics) {
	return func(rounds []run.Metrics) {
		for _, m := range rounds {
			h.history = append(h.history, roundMetrics{m.Step, m.Work, m.Values, m.Done, m.Stalled})
		}
		h.history = kept(h.history, keptRounds)
	}
}

// keptRounds is the number of rounds whose metrics a host keeps for hosts that join late.
const keptRounds = 1 << 16

// kept returns the newest rounds, n to 2n of them.
func kept(rounds []roundMetrics, n int) []roundMetrics {
	if len(rounds) < 2*n {
		return rounds
	}
	return append([]roundMetrics{}, rounds[len(rounds)-n:]...)
}

// goal is what ends the run.
func (h *hosted) goal() string {
	c := &h.run.config
	goal := fmt.Sprintf("%d generations, target %s", c.Generations, c.Target)
	if c.ValidationTarget != 0 {
		goal += fmt.Sprintf(", %v in a validation of %d episodes, %d steps and %v", c.ValidationTarget,
			c.ValidationEpisodes, c.ValidationSteps, c.ValidationParam)
	}
	return goal
}

// named adds the member to the error of a chunk that two hosts computed with different results.
func (h *hosted) named(err error) error {
	var m *hosts.Mismatch
	if !errors.As(err, &m) {
		return err
	}
	e := h.run
	return fmt.Errorf("%w: the first member that differs is %d", err, e.chunk.member(m.Chunk, m.Offset, e.search))
}

// report adds what this host did in the last generation, and who has joined and left.
func (h *hosted) report(m *run.Metrics) {
	p := h.process.Presence()
	m.Notices = append(m.Notices, h.others.update(p, h.server.String(), h.away(), time.Now())...)
	m.Waited = h.waited
	s, b := h.process.Stats(), h.lastStats
	h.lastStats = s
	share := float64(s.Chunks-b.Chunks) / float64(h.run.chunk.chunks())
	h.shares = append(h.shares[max(0, len(h.shares)-shareWindow+1):], share)
	m.Timings = append(m.Timings, run.Value{Name: "hosts_alive", Number: float64(len(p.Hosts))},
		run.Value{Name: "share", Number: share}, run.Value{Name: "mean_share", Number: episode.MeanOfFinite(h.shares)},
		run.Value{Name: "chunks_twice", Number: float64(s.Duplicates - b.Duplicates)},
		run.Value{Name: "seconds_waited", Number: (s.WaitTime - b.WaitTime).Seconds()},
		run.Value{Name: "bytes_sent", Number: float64(s.Bytes - b.Bytes)})
}

// shareWindow is the number of generations over which the display takes the mean of a host's share: that of one
// generation depends on which host was the first to begin its last chunks.
const shareWindow = 32

// attendance is what a host has told of the server and the other hosts.
type attendance struct {
	outage
	alive []string // hosts that were alive when that was last known; nil: it has not been known
}

// outage is what a run has told of its server.
type outage struct{ since time.Time } // when the server was found to be away; zero: it is there

// update returns a line if the server is away, with what the run does meanwhile, or back, with what it does then.
func (o *outage) update(connected bool, server, meanwhile, then string, now time.Time) (lines []string) {
	switch {
	case connected && !o.since.IsZero():
		lines = append(lines, fmt.Sprintf("the server %s is back after %v: %s", server,
			now.Sub(o.since).Round(time.Second), then))
		o.since = time.Time{}
	case !connected && o.since.IsZero():
		lines = append(lines, fmt.Sprintf("the server %s does not answer: %s", server, meanwhile))
		o.since = now
	}
	return lines
}

// away says what this host does while the server is away.
func (h *hosted) away() string {
	switch h.alone {
	case 0:
		return fmt.Sprintf("this host waits for it before the next generation, for %v at most (--wait)", h.server.Wait)
	case math.MaxInt64:
		return "this host goes on alone, and shares the population again when it is back"
	}
	return fmt.Sprintf("this host goes on alone for %v at most (--alone-for), and shares the population again when "+
		"it is back", h.alone)
}

// update returns lines for what is new: the server is away, what this host does meanwhile, or back, and hosts have
// joined or left.
func (a *attendance) update(p hosts.Presence, server, meanwhile string, now time.Time) []string {
	lines := a.outage.update(p.Connected, server, meanwhile, "this host shares the population again", now)
	if p.Settled {
		lines = append(lines, changes(a.alive, p.Hosts)...)
		a.alive = p.Hosts
	}
	return lines
}

// namedHosts is the number of hosts that a notice names, at most.
const namedHosts = 3

// changes returns a line for hosts that have joined and one for hosts that have left. Names are in order.
func changes(before, now []string) (lines []string) {
	if before == nil {
		return nil
	}
	line := func(from, to []string, what string) {
		names := slices.DeleteFunc(slices.Clone(to), func(name string) bool {
			_, there := slices.BinarySearch(from, name)
			return there
		})
		if len(names) == 0 {
			return
		}
		text := fmt.Sprintf("%d hosts have %s", len(names), what)
		switch {
		case len(names) == 1:
			text = "host " + names[0] + " has " + what
		case len(names) <= namedHosts:
			text = "hosts " + strings.Join(names, ", ") + " have " + what
		}
		lines = append(lines, fmt.Sprintf("%s; hosts now: %d", text, len(now)))
	}
	line(before, now, "joined")
	line(now, before, "left")
	return lines
}

// hostsBoard says what this host does.
func (*Config) hostsBoard() []run.DisplayRow {
	return []run.DisplayRow{
		{Label: "hosts", Plain: true, Parts: []run.Part{
			{Metric: "hosts_alive", Format: run.Whole},
			{Before: ", this one ", Metric: "mean_share", Format: run.Percent, Behind: " of the chunks"}}},
		{Label: "chunks", Parts: []run.Part{
			{Metric: "chunks_twice", Format: run.Whole, Behind: " done twice"},
			{Before: ", waited ", Metric: "seconds_waited", Format: run.Seconds},
			{Before: ", sent ", Metric: "bytes_sent", Format: run.Bytes}}}}
}

// load goes on after the step of a snapshot.
func (h *hosted) load(s run.Snapshot) (other bool, err error) {
	h.process.Jump(s.Step)
	return false, nil
}

func (h *hosted) ending(*Evolution, run.Metrics) string {
	s := h.process.Stats()
	if s.Chunks == 0 { // it led, or took the states of others
		return ""
	}
	text := "; this host computed " + quantity.Count(s.Chunks, "chunk", "chunks")
	if s.Duplicates > 0 {
		text += fmt.Sprintf(", of which others computed %d too", s.Duplicates)
	}
	return text
}

// close leaves the other hosts.
func (h *hosted) close() error {
	h.process.Close()
	return nil
}
