// Package hostsim simulates hosts that compute one population: the protocol of package hosts with its real messages,
// and computed times. It finds what faults do, and what a thousand hosts would need.
package hostsim

import (
	"bytes"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"xlarun/rollout/evolve/hosts"
)

// Options describe the simulated machines.
type Options struct {
	Hosts       int
	Chunks      int
	Generations int64
	RowBytes    int           // of a chunk
	Chunk       time.Duration // to compute a chunk on a host of speed 1
	Update      time.Duration // to update the state after a generation
	Delay       time.Duration // of a message, one way
	PerMessage  time.Duration // of the server, for each message that it delivers to a host
	PerKilobyte time.Duration // the same for 1,000 bytes
	Together    bool          // the first generation begins when all hosts have heard of each other
	Compile     time.Duration // before a process leads for the first time
	Closing     time.Duration // from the last generation until a process leaves; it answers, but sends no state
	// Speed returns how fast a host is; nil: all have 1.
	Speed func(host int) float64
	Seed  uint64
	// Loss is the part of the messages that get lost.
	Loss float64
	// Slow is the part of the computations that take 30 times as long, as other programs have the processors.
	Slow float64
	// Faults are what happens at which time.
	Faults []Fault
}

// Fault is something that happens to a host.
type Fault struct {
	At   time.Duration
	Host int
	What What
}

// What happens.
type What int

const (
	Kill     What = iota // the process ends
	Start                // a process starts: the first one of a host that was not there, or a new one
	Cut                  // messages to the host get lost, and those from it wait
	Heal                 // they arrive again
	Away                 // all hosts are cut off, whatever Fault.Host is
	Back                 // and healed
	Suspend              // the process stands still
	Continue             // and goes on
	Break                // the machine computes wrong rows from now on
)

// Result is what a simulation found.
type Result struct {
	Time   time.Duration   // until the last host was done
	Ends   []time.Duration // when the last host was done with each generation
	States map[int]string  // digest of the last state, by host that reached the end
	Errors map[int]error   // of hosts that ended with one
	// History has digests of the states after each generation, by host; "": of a generation before it joined.
	History  map[int][]string
	Stats    map[int]hosts.Stats // by host
	Messages int                 // sent to the server
	Bytes    int64               // of these
	Busy     time.Duration       // of the server, after the first generation
}

// Run simulates until all hosts are done, or until limit.
func Run(o Options, limit time.Duration) Result {
	s := &simulation{o: o, random: rand.New(rand.NewPCG(o.Seed, 1)), names: map[string]*machine{},
		updates: map[[sha256.Size]byte]update{}, result: Result{States: map[int]string{}, Errors: map[int]error{},
			History: map[int][]string{}, Stats: map[int]hosts.Stats{}, Ends: make([]time.Duration, o.Generations)}}
	late := map[int]bool{}
	for _, f := range o.Faults {
		if f.What == Start {
			late[f.Host] = true
		}
		s.at(f.At, func() { s.fault(f) })
	}
	for i := range o.Hosts {
		s.machines = append(s.machines, &machine{simulation: s, number: i, speed: 1})
		if o.Speed != nil {
			s.machines[i].speed = o.Speed(i)
		}
	}
	for _, m := range s.machines {
		m.others = slices.DeleteFunc(slices.Clone(s.machines), func(o *machine) bool { return o == m })
	}
	for i, m := range s.machines {
		killed := false
		for _, f := range o.Faults {
			killed = killed || f.Host == i && f.What == Kill
		}
		if !late[i] || killed { // a start after a kill is another process
			m.start()
		}
	}
	for s.next(limit) && (s.running > 0 || s.starts()) {
	}
	s.result.Time = s.last
	return s.result
}

// next lets the next thing happen: an event, or the server delivers a message to a host. There is none before limit.
func (s *simulation) next(limit time.Duration) bool {
	if d := s.delivery(); d != nil && (s.queue.Len() == 0 || d.due() < s.queue[0].at) {
		if s.now = d.due(); s.now > limit {
			return false
		}
		to := d.to[d.delivered]
		d.delivered++
		if s.o.Loss == 0 || s.random.Float64() >= s.o.Loss {
			to.receive(d.message)
		}
		return true
	}
	if s.queue.Len() == 0 {
		return false
	}
	e := heap.Pop(&s.queue).(event)
	if s.now = e.at; s.now > limit {
		return false
	}
	e.do()
	return true
}

// delivery is a message that the server delivers to hosts, one after the other.
type delivery struct {
	message   hosts.Message
	first     time.Duration // when it reaches the first one
	each      time.Duration // until the next one
	to        []*machine
	delivered int
}

func (d *delivery) due() time.Duration { return d.first + time.Duration(d.delivered)*d.each }

// delivery returns the message that the server delivers next. They are in the order of their times.
func (s *simulation) delivery() *delivery {
	for len(s.deliveries) > 0 {
		if d := s.deliveries[0]; d.delivered < len(d.to) {
			return d
		}
		s.deliveries = s.deliveries[1:]
	}
	return nil
}

type simulation struct {
	o          Options
	now        time.Duration
	last       time.Duration // when the last host was done
	queue      queue
	order      int
	random     *rand.Rand
	machines   []*machine
	names      map[string]*machine // by the names of their processes
	running    int                 // machines with a process
	server     time.Duration       // when the server is free
	deliveries []*delivery
	updates    map[[sha256.Size]byte]update // of states
	result     Result
}

// update is the next state, given a state and rows.
type update struct {
	rows [][]byte
	next [sha256.Size]byte
}

func (s *simulation) at(t time.Duration, do func()) {
	s.order++
	heap.Push(&s.queue, event{t, s.order, do})
}

func (s *simulation) starts() bool {
	for _, f := range s.o.Faults {
		if f.What == Start && f.At > s.now {
			return true
		}
	}
	return false
}

func (s *simulation) fault(f Fault) {
	m := s.machines[f.Host]
	switch f.What {
	case Kill:
		m.end()
	case Start:
		m.start()
	case Cut:
		m.cut = true
	case Heal:
		m.heal()
	case Away:
		for _, m := range s.machines {
			m.cut = true
		}
	case Back:
		for _, m := range s.machines {
			m.heal()
		}
	case Suspend:
		m.suspended = true
	case Continue:
		m.suspended = false
		for _, do := range m.held {
			do()
		}
		m.held = nil
	case Break:
		m.broken = true
	}
}

// send gives messages to the server, which delivers each to all hosts, or to one.
func (s *simulation) send(from *machine, messages []hosts.Message) {
	for _, m := range messages {
		data := m.Encode()
		s.result.Messages++
		s.result.Bytes += int64(len(data))
		message, err := hosts.Decode(data)
		if err != nil {
			panic(err) // it is a message
		}
		if from.cut {
			from.waiting = append(from.waiting, message)
			continue
		}
		to := from.others
		if m.To != "" {
			to = nil
			if one := s.names[m.To]; one != nil && one != from {
				to = []*machine{one}
			}
		}
		each := s.o.PerMessage + time.Duration(len(data))*s.o.PerKilobyte/1000
		free := max(s.server, s.now)
		s.server = free + each*time.Duration(len(to))
		s.deliveries = append(s.deliveries, &delivery{message: message, first: free + each + s.o.Delay, each: each,
			to: to})
		if s.result.Ends[0] > 0 {
			s.result.Busy += s.server - free
		}
	}
}

// machine is a simulated host.
type machine struct {
	*simulation
	number    int
	process   int
	speed     float64
	host      *hosts.Host // nil: no process runs
	others    []*machine
	state     [sha256.Size]byte
	busy      bool
	cut       bool
	suspended bool
	broken    bool
	compiled  bool            // the program of a process that leads
	held      []func()        // what happened while it was suspended
	waiting   []hosts.Message // to be sent, while it is cut off
	wake      time.Duration   // when the timer is due; 0: there is none
}

// start starts a process.
func (m *machine) start() {
	m.end()
	m.process++
	m.running++
	m.host = hosts.New(fmt.Sprintf("host%d.%d", m.number, m.process), hosts.Identity{"seed": "1"}, 0)
	m.names[m.host.ID()] = m
	m.state, m.busy, m.suspended, m.held, m.wake = sha256.Sum256([]byte("start")), true, false, nil, 0
	m.compiled = false
	m.result.History[m.number] = nil
	delete(m.result.Errors, m.number)
	m.send(m, []hosts.Message{m.host.Hello()})
	m.beat(m.process)
	// Hosts that are there answer before the first generation begins.
	process := m.process
	m.at(m.now+2*m.o.Delay+time.Millisecond, func() { m.begin(process) })
}

// begin begins the first generation, once the others are there.
func (m *machine) begin(process int) {
	m.alive(process, func() {
		if m.o.Together && len(m.host.Alive(m.now)) < m.o.Hosts {
			m.at(m.now+10*time.Millisecond, func() { m.begin(process) })
			return
		}
		m.busy = false
		m.step()
	})
}

// end ends the process, if there is one.
func (m *machine) end() {
	if m.host != nil {
		delete(m.names, m.host.ID())
		m.host, m.waiting = nil, nil
		m.running--
	}
}

// heal sends what waits while the host was cut off.
func (m *machine) heal() {
	waiting := m.waiting
	m.cut, m.waiting = false, nil
	m.send(m, waiting)
}

// alive calls do if the process still runs, later if it is suspended.
func (m *machine) alive(process int, do func()) {
	switch {
	case m.host == nil || m.process != process:
	case m.suspended:
		m.held = append(m.held, func() { m.alive(process, do) })
	default:
		do()
	}
}

func (m *machine) beat(process int) {
	m.at(m.now+hosts.BeatEvery, func() {
		m.alive(process, func() {
			m.send(m, m.host.Beat())
			m.beat(process)
		})
	})
}

func (m *machine) receive(message hosts.Message) {
	if m.host == nil {
		return
	}
	if m.suspended {
		process := m.process
		m.held = append(m.held, func() { m.alive(process, func() { m.receive(message) }) })
		return
	}
	if m.cut {
		return
	}
	out, err := m.host.Receive(m.now, message)
	m.send(m, out)
	if err != nil {
		m.fail(err)
		return
	}
	if !m.busy {
		m.step()
	}
}

func (m *machine) fail(err error) {
	m.result.Errors[m.number] = err
	m.end()
}

// step does what the host does next.
func (m *machine) step() {
	m.host.Resize(m.o.Chunks)
	a := m.host.Next(m.now, 1)
	m.send(m, a.Send)
	for _, to := range slices.Sorted(maps.Keys(a.SendStateTo)) {
		m.send(m, m.host.StateFragments(to, m.encoded(), 50))
	}
	switch {
	case a.State != nil:
		m.decode(a.State.Data)
		m.host.Jump(a.State.Generation)
		m.finished()
	case a.Complete:
		m.work(m.o.Update, func() { m.update(m.host.Finish()) })
	case a.Lead:
		took := m.o.Update + time.Duration(float64(m.o.Chunk)*float64(m.o.Chunks)/m.speed)
		if m.compiled {
			m.work(took, m.lead)
			return
		}
		m.compiled, m.busy = true, true
		process := m.process
		m.at(m.now+m.o.Compile, func() { m.alive(process, func() { m.work(took, m.lead) }) })
	case len(a.Compute) > 0:
		took := time.Duration(float64(m.o.Chunk) * float64(len(a.Compute)) / m.speed)
		m.work(took, func() {
			var rows [][]byte
			for _, c := range a.Compute {
				rows = append(rows, m.rows(c))
			}
			out, err := m.host.Computed(m.now, a.Compute, rows)
			if err != nil {
				m.fail(err)
				return
			}
			m.send(m, out)
			m.step()
		})
	case m.wake == 0 || m.now+a.Wait < m.wake: // a timer that is due earlier does, too
		m.wakeAt(m.now + max(a.Wait, time.Microsecond))
	}
}

// wakeAt sets a timer.
func (m *machine) wakeAt(t time.Duration) {
	process := m.process
	m.wake = t
	m.at(t, func() {
		m.alive(process, func() {
			if m.wake != t {
				return
			}
			m.wake = 0
			if !m.busy {
				m.step()
			}
		})
	})
}

// work keeps the machine busy for a time, and then calls do.
func (m *machine) work(d time.Duration, do func()) {
	m.busy = true
	process := m.process
	if m.o.Slow > 0 && m.random.Float64() < m.o.Slow {
		d *= 30
	}
	m.at(m.now+d, func() {
		m.alive(process, func() {
			m.busy = false
			do()
		})
	})
}

// rows computes a chunk.
func (m *machine) rows(chunk int) []byte {
	in := binary.LittleEndian.AppendUint64(m.state[:], uint64(chunk))
	sum := sha256.Sum256(in)
	rows := make([]byte, m.o.RowBytes)
	for i := range rows {
		rows[i] = sum[i%len(sum)]
	}
	if m.broken {
		rows[len(rows)-1] ^= 1
	}
	return rows
}

// lead computes a generation alone.
func (m *machine) lead() {
	var rows [][]byte
	for c := range m.o.Chunks {
		rows = append(rows, m.rows(c))
	}
	m.host.Led(m.now)
	m.update(rows)
}

// update computes the next state from the rows of all chunks. Hosts with equal states and rows share the work.
func (m *machine) update(rows [][]byte) {
	u := m.updates[m.state]
	if !slices.EqualFunc(u.rows, rows, bytes.Equal) {
		h := sha256.New()
		h.Write(m.state[:])
		for _, r := range rows {
			h.Write(r)
		}
		u = update{rows, [sha256.Size]byte(h.Sum(nil))}
		m.updates[m.state] = u
	}
	m.state = u.next
	m.finished()
}

// finished goes on after a generation, or ends.
func (m *machine) finished() {
	done := m.host.Generation()
	for int64(len(m.result.History[m.number])) < done-1 {
		m.result.History[m.number] = append(m.result.History[m.number], "")
	}
	m.result.History[m.number] = append(m.result.History[m.number], fmt.Sprintf("%x", m.state[:8]))
	m.result.Stats[m.number] = m.host.Stats
	m.result.Ends[done-1] = m.now
	if done >= m.o.Generations {
		m.result.States[m.number] = fmt.Sprintf("%x", m.state[:8])
		m.last = m.now
		if m.host.Behind(m.now) {
			m.send(m, m.host.StateFragments("", m.encoded(), 50))
		}
		m.busy = true
		process := m.process
		m.at(m.now+m.o.Closing, func() {
			m.alive(process, func() {
				m.send(m, []hosts.Message{m.host.Leave()})
				m.end()
			})
		})
		return
	}
	m.step()
}

// encoded returns the state as it travels.
func (m *machine) encoded() []byte { return m.state[:] }

func (m *machine) decode(data []byte) { m.state = [sha256.Size]byte(data) }

// event is something that happens at a time.
type event struct {
	at    time.Duration
	order int
	do    func()
}

// queue is a heap of events.
type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}
