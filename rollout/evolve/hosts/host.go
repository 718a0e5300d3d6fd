// Package hosts lets several hosts compute one population. Each host holds the whole state and computes part of each
// generation.
//
// The members of a generation are cut into chunks. The rows of a chunk, its members' results, are a function of the
// state, the generation and the chunk's number alone. Hosts announce the rows that they compute. Each host puts the
// rows of all chunks together in the same order and updates its own state, so all states are equal to the byte. Nobody
// sends parameters, except to a host that joins late.
//
// There is no lease. A host begins with chunks of its own. Then it takes chunks that nobody has begun, and then those
// whose host is late. A chunk that two hosts compute has the same rows, which is checked.
//
// Each host updates its own state, so several hosts do not do that faster. Where updates, messages and waits take too
// much of a generation, one host leads: it computes generations alone, and the others take its state once in BeatEvery
// (see leads). If two lead, or nobody does for a while, only time is lost.
package hosts

import (
	"maps"
	"slices"
	"time"
)

const (
	// BeatEvery is the time between two beats of a host.
	BeatEvery = time.Second
	// AliveFor is how long a host counts as alive after it was heard last.
	AliveFor = 3500 * time.Millisecond
	// goneAfter is how long a host that was heard last then is remembered.
	goneAfter = 10 * time.Minute
	// mostNames bounds the hosts that are counted, the largest number that a run may wait for.
	mostNames = 4096
	// roundWindow is the number of finished generations whose rows a host keeps for hosts that lack some, and of later
	// ones whose rows it takes.
	roundWindow = 4
	// requestEvery is the time after which a host asks again for rows or for a state.
	requestEvery = time.Second
	// maxRowsRequests is how often a host asks another one for rows, before it asks for the state.
	maxRowsRequests = 3
	// lateFactor is how many times the usual time of a chunk its host may take, before another one computes it too.
	lateFactor = 1.25
	// leastLate bounds that time from below.
	leastLate = 5 * time.Millisecond
	// transitTime is how long a host waits for rows of others that are ahead before it asks for them.
	transitTime = 20 * time.Millisecond
	// chunkTimeGuess is the time of a chunk before one was measured.
	chunkTimeGuess = 2 * time.Second
	// leastShared is the least time of a generation that hosts share: less is hardly faster on two hosts, and takes
	// twice the time of the processors.
	leastShared = 12 * time.Millisecond
	// alwaysShared is the time of a generation from which on hosts share it, however little they gain.
	alwaysShared = 100 * time.Millisecond
	// Other generations are shared if hosts compute them enoughSpeedup times as fast as one does, or if the time of the
	// processors is at most mostCost times that of one.
	enoughSpeedup, mostCost = 2, 1.5
	// steady is by how much these bounds are higher for a host that leads, so that it does not change its mind often.
	steady = 1.25
	// trials is the number of generations that hosts share before one decides by what they gained.
	trials = 12
	// tryAgain is the time after which a host that leads finds out anew what sharing gains: others may have used the
	// processors.
	tryAgain = 5 * time.Minute
	// memory is the number of generations for which a short one counts in a least.
	memory = 32
)

// Host is one host's part of the protocol. It sends nothing itself: methods return the messages to send. It reads no
// clock: `now` is the time since any fixed moment. It is not for use by several goroutines at a time.
type Host struct {
	id            string
	identity      Identity
	run           string // identity.Digest()
	peers         map[string]*peer
	names         map[string]bool  // hosts that joined, without those that left at the start; at most mostNames
	round         *round           // the generation under way
	rounds        map[int64]*round // this one, finished ones, and later ones of which messages have arrived
	chunkTime     time.Duration    // time of a chunk, here; 0: not known
	startTime     time.Duration    // when the generation began here; -1: not yet
	computeTime   time.Duration    // when this host began its chunks
	whole         least            // time of a generation, if this host computes all of it
	own           least            // time of a shared generation beyond this host's part of all chunks
	partEnd       time.Duration    // when that part of the last generation would have ended; -1: it was not shared
	sharing       int              // hosts that shared the last generation
	leadTime      time.Duration    // when this host began to lead
	leastChunk    time.Duration    // the least time for each chunk, in this generation; 0: not known
	computing     time.Duration    // time of the chunks that this host computed, in this generation
	computed      int              // their number
	leading       bool             // this host computes the generation alone
	requestTime   time.Duration    // when rows or a state were asked for; -1: not in this generation
	requests      int              // how often in this generation
	idleUntil     time.Duration    // until then only rows of all chunks, or a change, give this host something to do
	changed       bool             // a message changed who shares the generation, or what is under way
	activity      bool             // the others have heard of this host since its last beat
	fragments     Fragments
	checkpoint    *Checkpoint
	stateRequests map[string]int64 // hosts that want the state, and the generations that they have done
	Stats         Stats
}

// peer is another host.
type peer struct {
	lastMessage time.Duration
	lastRows    time.Duration // when it sent rows last
	generation  int64
	moved       time.Duration // when it was heard with another one than before, or with one that it shares
	leading     bool
	mute        bool // it has not answered requests: it is busy, or ends
}

// least is the least of several times. Short ones count more than long ones: other programs make them longer.
type least struct {
	time  time.Duration
	count int
}

func (l *least) add(took time.Duration) {
	if l.count == 0 || took < l.time {
		l.time = took
	}
	l.time += (took - l.time) / memory
	l.count++
}

// Stats count what a host did. Chunks are of all generations.
type Stats struct {
	Chunks     int // chunks that this host computed
	Duplicates int // chunks that another host computed, too
	Bytes      int64
	WaitTime   time.Duration
}

// Checkpoint is a state that another host sent.
type Checkpoint struct {
	From       string
	Generation int64 // generations done
	Data       []byte
}

// New returns a host with a unique name, after a number of generations. Resize comes before the first Next.
func New(id string, identity Identity, generation int64) *Host {
	h := &Host{id: id, identity: identity, run: identity.Digest(), peers: map[string]*peer{},
		names: map[string]bool{id: true}, rounds: map[int64]*round{}, fragments: Fragments{},
		stateRequests: map[string]int64{}}
	h.start(generation)
	return h
}

// ID returns the host's name.
func (h *Host) ID() string { return h.id }

// Generation returns the number of generations that are done.
func (h *Host) Generation() int64 { return h.round.generation }

// message returns a message of this host.
func (h *Host) message(kind Kind, to string) Message {
	return Message{Kind: kind, From: h.id, To: to, Run: h.run, Generation: h.round.generation, Leading: h.leading}
}

// Hello returns the message of a host that joins.
func (h *Host) Hello() Message {
	m := h.message(Hello, "")
	m.Identity = h.identity
	return m
}

// Beat returns the message that says that the host is alive, once in BeatEvery. There is none if the host has told the
// others something since the last time: the server delivers a beat to every host, which counts when there are many.
func (h *Host) Beat() []Message {
	activity := h.activity
	h.activity = false
	if activity {
		return nil
	}
	return []Message{h.message(Beat, "")}
}

// Leave returns the message of a host that ends.
func (h *Host) Leave() Message { return h.message(Leave, "") }

// Alive returns the names of the hosts that are alive, this one too, in order.
func (h *Host) Alive(now time.Duration) []string {
	return h.alive(now, func(*peer) bool { return true })
}

// Count returns the number of hosts that have joined, with this one and those that left after a generation, up to
// mostNames. One that is silent counts if it has done a generation: else it was killed while it waited.
func (h *Host) Count(now time.Duration) (n int) {
	for name := range h.names {
		if p := h.peers[name]; p == nil || p.generation > 0 || h.isAlive(now, name) {
			n++
		}
	}
	return n
}

// alive returns the names of this host and of the others that are alive and accepted, in order.
func (h *Host) alive(now time.Duration, accept func(*peer) bool) []string {
	names := []string{h.id}
	for name, p := range h.peers {
		if now-p.lastMessage <= AliveFor && accept(p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Receive takes a message of another host. It returns the messages to send, and an error that ends the run:
// *IdentityError or *Mismatch.
func (h *Host) Receive(now time.Duration, m Message) ([]Message, error) {
	if m.From == h.id || m.To != "" && m.To != h.id {
		return nil, nil
	}
	if m.Run != h.run {
		return h.receiveOtherRun(m)
	}
	if m.Kind == Leave {
		if m.Generation == 0 { // it has waited too long, or was stopped; one that has computed has seen enough hosts
			delete(h.names, m.From)
		}
		delete(h.peers, m.From)
		delete(h.fragments, m.From)
		h.changed = true
		return nil, nil
	}
	p := h.peers[m.From]
	if p == nil {
		p = &peer{generation: m.Generation}
		h.peers[m.From] = p
		if len(h.names) < mostNames {
			h.names[m.From] = true
		}
		h.changed = true
	}
	h.changed = h.changed || now-p.lastMessage > AliveFor
	p.lastMessage = now
	generation := p.generation
	switch { // the generation of rows is theirs
	case m.Kind != Rows && m.Kind != RowsRequest:
		generation = m.Generation
	case m.Kind == Rows && m.To == "":
		generation = max(generation, m.Generation)
	}
	before := h.shares(p)
	h.changed = h.changed || p.leading != m.Leading
	moved := p.generation != generation
	p.generation, p.leading = generation, m.Leading
	shares := h.shares(p)
	h.changed = h.changed || shares != before
	if moved || shares { // all hosts may pause together, to compile or to validate
		p.moved = now
	}
	p.mute = p.mute && m.Kind != Begin && m.Kind != Rows && m.Kind != State
	switch m.Kind {
	case Hello:
		w := h.message(Welcome, m.From)
		w.Identity = h.identity
		return []Message{w}, nil
	case Begin:
		h.begin(now, m)
		h.changed = true
	case Rows:
		p.lastRows = now
		return nil, h.rows(m)
	case RowsRequest:
		return h.rowsFor(m), nil
	case StateRequest:
		h.stateRequests[m.From] = m.Generation
	case State:
		h.fragment(m)
	}
	return nil, nil
}

// receiveOtherRun handles a message of a host that computes another run.
func (h *Host) receiveOtherRun(m Message) ([]Message, error) {
	switch m.Kind {
	case Hello:
		w := h.message(Welcome, m.From)
		w.Identity = h.identity
		return []Message{w}, nil
	case Welcome:
		key, _ := h.identity.difference(m.Identity)
		return nil, &IdentityError{m.From, key, h.identity[key], m.Identity[key]}
	}
	return nil, nil
}

// roundOf returns the round of a generation; nil: it is too far from the one under way.
func (h *Host) roundOf(generation int64) *round {
	r := h.rounds[generation]
	if d := generation - h.round.generation; r == nil && d >= 0 && d <= roundWindow {
		r = &round{generation: generation}
		h.rounds[generation] = r
	}
	return r
}

func (h *Host) begin(now time.Duration, m Message) {
	r := h.roundOf(m.Generation)
	if r == nil {
		return
	}
	for _, c := range m.Chunks {
		if c := r.at(c); c != nil {
			c.host, c.startTime = m.From, now
		}
	}
}

// rows stores the rows of a chunk, or compares them with those that are there.
func (h *Host) rows(m Message) error {
	r := h.roundOf(m.Generation)
	if r == nil || len(m.Chunks) != 1 {
		return nil
	}
	twice, err := r.put(m.Chunks[0], m.From, m.Data)
	if twice && r.chunks[m.Chunks[0]].by == h.id {
		h.Stats.Duplicates++
	}
	return err
}

// rowsFor answers RowsRequest.
func (h *Host) rowsFor(m Message) (out []Message) {
	r := h.roundOf(m.Generation)
	if r == nil {
		return nil
	}
	for _, c := range m.Chunks {
		if c >= 0 && c < len(r.chunks) && r.chunks[c].rows != nil {
			out = append(out, h.rowsMessage(r, c, m.From))
		}
	}
	return out
}

// rowsMessage returns the message with a chunk's rows. It is sent for the host that computed them.
func (h *Host) rowsMessage(r *round, number int, to string) Message {
	m := h.message(Rows, to)
	m.Generation, m.Chunks, m.Data = r.generation, []int{number}, r.chunks[number].rows
	return m
}

// fragment stores a part of a state.
func (h *Host) fragment(m Message) {
	if m.Generation <= h.round.generation {
		return
	}
	data := h.fragments.Add(m)
	if data != nil && (h.checkpoint == nil || h.checkpoint.Generation < m.Generation) {
		h.checkpoint = &Checkpoint{m.From, m.Generation, data}
	}
}

// StateFragments returns the messages of a state after this host's generations, in parts of at most `largest` bytes.
func (h *Host) StateFragments(to string, data []byte, largest int) []Message {
	return Split(h.message(State, to), data, largest)
}

// Action is what a host does next.
type Action struct {
	Send        []Message
	Complete    bool             // all rows of the generation are there
	Lead        bool             // compute the generation alone, and call Led
	Compute     []int            // chunks to compute
	Wait        time.Duration    // until a message arrives, at most
	State       *Checkpoint      // a state to go on from
	SendStateTo map[string]int64 // hosts that want this host's state, and the generations that they have done
}

// Next returns what to do now. It computes `limit` chunks at a time at most.
func (h *Host) Next(now time.Duration, limit int) Action {
	a := Action{SendStateTo: h.stateRequests}
	h.stateRequests = map[string]int64{}
	if s := h.checkpoint; s != nil {
		if h.checkpoint = nil; s.Generation > h.round.generation {
			a.State = s
			return a
		}
	}
	if h.startTime < 0 {
		if h.partEnd >= 0 && h.sharing >= len(h.alive(now, h.movesAt(now))) {
			h.own.add(max(0, now-h.partEnd))
		}
		h.startTime = now
	}
	if h.round.complete() {
		h.forget(now)
		a.Complete = true
		return a
	}
	if now < h.idleUntil && !h.changed {
		a.Wait = h.idleUntil - now
		return a
	}
	h.changed = false
	led := h.leading
	h.leading = false
	if name, ahead := h.ahead(now); ahead != nil {
		a.Send, a.Wait = h.catchUp(now, name, ahead)
	} else if p := h.leader(now, led); p != nil {
		a.Wait = p.lastMessage + AliveFor - now + 1
	}
	if a.Wait > 0 {
		h.idleUntil = now + a.Wait
		return a
	}
	if h.leads(now, led) {
		h.leading, h.idleUntil, h.computeTime, a.Lead = true, 0, now, true
		if !led {
			h.leadTime = now
			a.Send = append(a.Send, h.message(Begin, ""))
		}
		return a
	}
	var expected bool
	a.Compute, expected, a.Wait = h.choose(now, limit)
	if len(a.Compute) == 0 {
		h.idleUntil = now + a.Wait
		return a
	}
	h.idleUntil = 0
	m := h.message(Begin, "")
	m.Chunks = a.Compute
	h.begin(now, m)
	h.computeTime = now
	if !expected {
		a.Send = append(a.Send, m)
		h.activity = true
	}
	return a
}

// forget removes what hosts that are gone have left here, so that a long run does not grow.
func (h *Host) forget(now time.Duration) {
	h.fragments.drop(h.round.generation, func(sender string) bool { return !h.isAlive(now, sender) })
	maps.DeleteFunc(h.peers, func(_ string, p *peer) bool { return now-p.lastMessage > goneAfter })
}

// ahead returns the host that has done the most generations, if there are more than here.
func (h *Host) ahead(now time.Duration) (name string, p *peer) {
	for n, other := range h.peers {
		if other.generation <= h.round.generation || other.mute || !h.isAlive(now, n) {
			continue
		}
		if p == nil || other.generation > p.generation || other.generation == p.generation && n < name {
			name, p = n, other
		}
	}
	return name, p
}

// catchUp asks a host that is ahead for rows or for its state. wait is how long to wait for the answer; 0: nobody
// answers, so this host computes.
func (h *Host) catchUp(now time.Duration, name string, p *peer) (out []Message, wait time.Duration) {
	if h.requestTime < 0 { // they may be on their way
		h.requestTime = now + transitTime - requestEvery
	}
	if now-h.requestTime < requestEvery {
		return nil, requestEvery - (now - h.requestTime)
	}
	if h.requests >= 2*maxRowsRequests {
		p.mute, h.requests = true, 0
		return nil, 0
	}
	h.requests++
	h.requestTime = now
	kind := RowsRequest
	if p.leading || p.generation-h.round.generation > roundWindow || h.requests > maxRowsRequests {
		kind = StateRequest
	}
	m := h.message(kind, name)
	if kind == RowsRequest {
		m.Chunks = h.round.missingChunks()
	}
	return []Message{m}, requestEvery
}

// leader returns another host that leads, if this one leaves the generation to it; nil: there is none. Of two that lead
// the first in order goes on, if it is not far behind. led: this host has led the last generation.
func (h *Host) leader(now time.Duration, led bool) *peer {
	far := int64(1)
	if h.whole.time > 0 {
		far += int64(2 * BeatEvery / h.whole.time)
	}
	for name, p := range h.peers {
		first := !led || name < h.id
		if p.leading && !p.mute && h.isAlive(now, name) && first && h.round.generation-p.generation <= far {
			return p
		}
	}
	return nil
}

// leads reports whether this host leads now. led: it has led the last generation.
func (h *Host) leads(now time.Duration, led bool) bool {
	if !led && (h.whole.count == 0 || h.alive(now, h.shares)[0] != h.id) {
		return false
	}
	bound := 1.
	if led {
		bound = steady
	}
	whole, n := float64(h.whole.time), float64(len(h.alive(now, h.movesAt(now))))
	switch {
	case whole < bound*float64(leastShared):
		return true
	case led && now-h.leadTime > tryAgain:
		h.own = least{}
	}
	if h.own.count < trials || whole >= bound*float64(alwaysShared) {
		return false
	}
	return n == 1 || whole/(whole/n+float64(h.own.time)) < bound*min(n/mostCost, enoughSpeedup)
}

// Led takes the time of a generation that this host computed alone, and begins the next one.
func (h *Host) Led(now time.Duration) {
	h.whole.add(now - h.computeTime)
	h.Stats.Chunks += len(h.round.chunks)
	h.forget(now)
	h.start(h.round.generation + 1)
}

// Behind reports whether this host leads and others are behind.
func (h *Host) Behind(now time.Duration) bool {
	for name, p := range h.peers {
		if h.leading && h.isAlive(now, name) && p.generation < h.round.generation {
			return true
		}
	}
	return false
}

// choose returns the chunks to compute now: own ones, then others that nobody has begun, the last ones of a host first,
// then those whose host is late. If there are none, wait is the time until one is late.
//
// A host computes its own chunks in order, so the others know which one is under way, and need no message about it.
// expected reports that it is this one chunk.
func (h *Host) choose(now time.Duration, limit int) (chunks []int, expected bool, wait time.Duration) {
	sharing := h.alive(now, h.shares)
	h.sharing = len(sharing)
	rank := slices.Index(sharing, h.id)
	late := max(leastLate, time.Duration(lateFactor*float64(h.chunkTime)))
	if h.chunkTime == 0 {
		late = chunkTimeGuess
	}
	wait = late
	var own, open, overdue []int
	underWay := make([]bool, len(sharing)) // a chunk of this host is
	for i, c := range h.round.chunks {
		if c.rows != nil {
			continue
		}
		owner := i % len(sharing)
		by, at := c.host, c.startTime
		if by == "" && owner != rank && !underWay[owner] {
			by, at = sharing[owner], max(h.startTime, h.peers[sharing[owner]].lastRows)
		}
		underWay[owner] = underWay[owner] || by == sharing[owner]
		switch {
		case by != "" && by != h.id && h.isAlive(now, by):
			if left := at + late - now; left > 0 {
				wait = min(wait, left, h.peers[by].lastMessage+AliveFor-now+1)
			} else {
				overdue = append(overdue, i)
			}
		case owner == rank:
			own = append(own, i)
		default:
			open = append(open, i)
		}
	}
	slices.Reverse(open)
	chunks = slices.Concat(own, open)
	if len(chunks) == 0 {
		// Each host begins at another place, so that not all compute the same.
		if n := len(overdue); n > 0 {
			k := rank % n
			chunks = slices.Concat(overdue[k:], overdue[:k])
		}
	}
	chunks = chunks[:min(limit, len(chunks))]
	return chunks, len(chunks) == 1 && len(own) > 0, wait
}

// shares reports whether another host computes the generation under way, or is about to.
func (h *Host) shares(p *peer) bool {
	return p.generation >= h.round.generation-1 && p.generation <= h.round.generation
}

// movesAt tells hosts that get on from those that only say that they are alive, such as one that waits for its disk.
func (h *Host) movesAt(now time.Duration) func(*peer) bool {
	return func(p *peer) bool { return now-p.moved <= AliveFor }
}

func (h *Host) isAlive(now time.Duration, name string) bool {
	p := h.peers[name]
	return name == h.id || p != nil && now-p.lastMessage <= AliveFor
}

// Computed takes the rows of chunks that this host computed, and returns the messages that announce those that others
// have not announced meanwhile.
func (h *Host) Computed(now time.Duration, chunks []int, rows [][]byte) ([]Message, error) {
	h.chunkTime = now - h.computeTime
	if each := h.chunkTime / time.Duration(len(chunks)); h.leastChunk == 0 || each < h.leastChunk {
		h.leastChunk = each
	}
	h.computing += h.chunkTime
	h.computed += len(chunks)
	var out []Message
	for i, c := range chunks {
		h.Stats.Chunks++
		twice, err := h.round.put(c, h.id, rows[i])
		if err != nil {
			return nil, err
		}
		if twice {
			h.Stats.Duplicates++
			continue
		}
		out = append(out, h.rowsMessage(h.round, c, ""))
		h.activity = true
	}
	return out, nil
}

// Resize sets the number of chunks of the generation under way.
func (h *Host) Resize(chunks int) {
	h.round.resize(chunks)
}

// Finish ends the generation, which is complete, and begins the next one. It returns the rows of all chunks, in order.
func (h *Host) Finish() [][]byte {
	r := h.round
	rows := make([][]byte, len(r.chunks))
	for i, c := range r.chunks {
		rows[i] = c.rows
	}
	end := time.Duration(-1)
	if h.computed > 0 {
		// Chunks take longer while other hosts use the same processors, which they would not if this host led.
		h.whole.add(h.leastChunk * time.Duration(len(r.chunks)))
		end = h.startTime + h.computing*time.Duration(len(r.chunks))/time.Duration(h.computed*h.sharing)
	}
	h.start(r.generation + 1)
	h.partEnd = end
	return rows
}

// Jump goes on after a number of generations, with a state of another host.
func (h *Host) Jump(generation int64) {
	h.start(generation)
}

// start makes a generation the one under way.
func (h *Host) start(generation int64) {
	h.round = h.rounds[generation]
	if h.round == nil {
		h.round = &round{generation: generation}
		h.rounds[generation] = h.round
	}
	maps.DeleteFunc(h.rounds, func(g int64, _ *round) bool { return g < generation-roundWindow })
	h.startTime, h.partEnd, h.requestTime, h.requests, h.idleUntil = -1, -1, -1, 0, 0
	h.computing, h.computed, h.leastChunk = 0, 0, 0
}
