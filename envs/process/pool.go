package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"xlarun/envs"
	"xlarun/graph"
)

// pool has the simulators of a command, in one process or several. Each plays one episode at a time.
type pool struct {
	mu        sync.Mutex
	command   []string
	spec      envs.Spec
	processes []*pipe
	session   uint32
	number    uint32 // of episodes so far
	slots     []*slot
	episodes  map[uint32]*slot // by the episode's number
	free      []*slot
	largest   int // batch so far
	clock     int
	broken    error // of a process that has failed
}

// slot is a simulator.
type slot struct {
	index   int
	episode uint32
	seed    uint32
	time    int32 // steps played
	used    int   // clock of the last use
	action  []byte
	last    answer // of the last step
}

// answer is what a step gives.
type answer struct {
	observation           []byte
	reward                float32
	terminated, truncated bool
}

// spare is how many times the largest batch of episodes may be open. Runs play a batch while they keep another, and
// begin episodes of which they use few.
const spare = 4

// mostProcesses bounds the number of processes.
const mostProcesses = 16

func newPool(command []string) (*pool, envs.Spec, error) {
	if len(command) == 0 {
		return nil, envs.Spec{}, errors.New("there is no command: give one, as in exec:./env.py")
	}
	first, spec, err := start(command)
	if err != nil {
		return nil, spec, err
	}
	p := &pool{command: command, spec: spec, session: uint32(time.Now().UnixNano()), episodes: map[uint32]*slot{},
		processes: make([]*pipe, min(runtime.GOMAXPROCS(0), mostProcesses))}
	p.processes[0] = first
	return p, spec, nil
}

// works reports whether no process has failed.
func (p *pool) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken == nil
}

// close ends the processes.
func (p *pool) close() {
	for _, one := range p.processes {
		if one != nil {
			one.kill()
		}
	}
}

// process returns the process of a slot, and starts it if it does not run yet.
func (p *pool) process(s *slot) (*pipe, error) {
	i := s.index % len(p.processes)
	if p.processes[i] != nil {
		return p.processes[i], nil
	}
	started, spec, err := start(p.command)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(spec) != fmt.Sprint(p.spec) {
		started.kill()
		return nil, errors.New("a second process of the command has other spaces than the first")
	}
	p.processes[i] = started
	return started, nil
}

// request sends the slots of a batch to their processes side by side. one writes the record of slot i of the batch, and
// read takes the answer's parts, each with a row for a slot.
func (p *pool) request(word string, batch []*slot, columns []column, widths []int,
	read func(i int, rows [][]byte)) error {
	if p.broken != nil {
		return p.broken
	}
	parts := map[*pipe][]int{}
	for i, s := range batch {
		to, err := p.process(s)
		if err != nil {
			p.broken = err
			return err
		}
		parts[to] = append(parts[to], i)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	for to, members := range parts {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var body []byte
			for _, c := range columns {
				for _, i := range members {
					body = c(body, i)
				}
			}
			rows, err := to.ask(word, len(members), body, widths)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				p.broken = err
				return
			}
			for k, i := range members {
				part := make([][]byte, len(widths))
				for j, w := range widths {
					part[j] = rows[j][k*w : (k+1)*w]
				}
				read(i, part)
			}
		}()
	}
	wait.Wait()
	return p.broken
}

// column appends what a request says of slot i of a batch.
type column func(to []byte, i int) []byte

// local is a slot's number in its process.
func (p *pool) local(batch []*slot) column {
	return func(to []byte, i int) []byte {
		return binary.LittleEndian.AppendUint32(to, uint32(batch[i].index/len(p.processes)))
	}
}

// begin takes simulators for new episodes with these seeds, and resets them.
func (p *pool) begin(seeds []uint32) ([]*slot, error) {
	if len(seeds) == 0 {
		return nil, nil
	}
	p.largest = max(p.largest, len(seeds))
	batch := make([]*slot, len(seeds))
	for i := range batch {
		s := p.take()
		delete(p.episodes, s.episode)
		p.number++
		*s = slot{index: s.index, episode: p.number, seed: seeds[i], used: p.clock}
		p.episodes[s.episode] = s
		batch[i] = s
	}
	width := p.spec.Observation.Shape().Bytes()
	err := p.request("reset", batch, []column{p.local(batch), func(to []byte, i int) []byte {
		return binary.LittleEndian.AppendUint32(to, seeds[i])
	}}, []int{width}, func(i int, rows [][]byte) { batch[i].last.observation = rows[0] })
	if err != nil {
		return nil, err
	}
	for _, s := range batch {
		if err := p.check(s); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// take returns a simulator that is free, a new one, or the one whose last step is the longest ago.
func (p *pool) take() *slot {
	if n := len(p.free); n > 0 {
		s := p.free[n-1]
		p.free = p.free[:n-1]
		return s
	}
	if len(p.slots) < spare*p.largest {
		s := &slot{index: len(p.slots)}
		p.slots = append(p.slots, s)
		return s
	}
	oldest := p.slots[0]
	for _, s := range p.slots {
		if s.used < oldest.used {
			oldest = s
		}
	}
	return oldest
}

// check refuses numbers that are not finite.
func (p *pool) check(s *slot) error {
	refuse := func(what string, x float64) error {
		p.broken = fmt.Errorf("the process gave %s that is %v, after %d steps of an episode, want finite numbers", what,
			x, s.time)
		return p.broken
	}
	if x := float64(s.last.reward); math.IsNaN(x) || math.IsInf(x, 0) {
		return refuse("a reward", x)
	}
	if p.spec.Observation.Shape().DType == graph.Float32 {
		for at := 0; at < len(s.last.observation); at += 4 {
			x := float64(math.Float32frombits(binary.LittleEndian.Uint32(s.last.observation[at:])))
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return refuse(fmt.Sprintf("element %d of an observation", at/4), x)
			}
		}
	}
	return nil
}

// seedOf makes a seed below 2³¹ of a key.
func seedOf(key []byte) uint32 {
	x := binary.LittleEndian.Uint64(key) * 0x9e3779b97f4a7c15
	return uint32(x>>33) & math.MaxInt32
}

// reset is the host's function: keys u32[n, 2] in; observations and handles u32[n, 3] out.
func (p *pool) reset(args []*graph.Array) ([]*graph.Array, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock++
	keys, err := graph.HostBytes(args[0])
	if err != nil {
		return nil, err
	}
	seeds := make([]uint32, args[0].Dim(0))
	for i := range seeds {
		seeds[i] = seedOf(keys[8*i:])
	}
	batch, err := p.begin(seeds)
	if err != nil {
		return nil, err
	}
	out := p.results(len(batch))
	for i, s := range batch {
		out.put(i, s.last.observation, handle{p.session, s.episode, s.seed})
	}
	return out.arrays(p.spec)[:2], nil
}

// handle names an episode in a state. The seed begins it again.
type handle struct{ session, episode, seed uint32 }

const handleBytes = 12

func handleOf(b []byte, i int) handle {
	b = b[i*handleBytes:]
	return handle{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
}

// results are the results of a step of n lanes.
type results struct {
	n                                                     int
	observations, handles, rewards, terminated, truncated []byte
}

func (p *pool) results(n int) *results {
	return &results{n, make([]byte, n*p.spec.Observation.Shape().Bytes()), make([]byte, n*handleBytes),
		make([]byte, 4*n), make([]byte, n), make([]byte, n)}
}

func (r *results) put(i int, observation []byte, h handle) {
	copy(r.observations[i*len(observation):], observation)
	for k, x := range []uint32{h.session, h.episode, h.seed} {
		binary.LittleEndian.PutUint32(r.handles[i*handleBytes+4*k:], x)
	}
}

func (r *results) arrays(spec envs.Spec) []*graph.Array {
	o := spec.Observation.Shape()
	return []*graph.Array{
		graph.FromBytes(graph.ShapeOf(o.DType, append([]int{r.n}, o.Dims...)...), r.observations),
		graph.FromBytes(graph.ShapeOf(graph.Uint32, r.n, 3), r.handles),
		graph.FromBytes(graph.ShapeOf(graph.Float32, r.n), r.rewards),
		graph.FromBytes(graph.ShapeOf(graph.Bool, r.n), r.terminated),
		graph.FromBytes(graph.ShapeOf(graph.Bool, r.n), r.truncated),
	}
}

// step is the host's function: keys, handles, times, over, observations and actions in; observations, handles, rewards,
// terminated and truncated out.
func (p *pool) step(args []*graph.Array) ([]*graph.Array, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock++
	in := make([][]byte, len(args))
	for i, a := range args {
		var err error
		if in[i], err = graph.HostBytes(a); err != nil {
			return nil, err
		}
	}
	keys, handles, times, over, observations, actions := in[0], in[1], in[2], in[3], in[4], in[5]
	n := args[0].Dim(0)
	p.largest = max(p.largest, n)
	width, actionWidth := p.spec.Observation.Shape().Bytes(), p.spec.Action.Shape().Bytes()
	out := p.results(n)
	played := make([]*slot, n) // by lane; nil: no step
	var again, lost []int      // lanes whose episode begins again with its seed, and lanes that lost theirs
	var seeds, others []uint32
	seen := map[uint32]bool{}
	for i := range n {
		at := handleOf(handles, i)
		now := int32(binary.LittleEndian.Uint32(times[4*i:]))
		action := actions[i*actionWidth : (i+1)*actionWidth]
		s := p.episodes[at.episode]
		if at.session != p.session {
			s = nil
		}
		repeated := s != nil && s.time == now+1 && string(action) == string(s.action)
		switch {
		case over[i] != 0:
			out.put(i, observations[i*width:(i+1)*width], at)
			out.terminated[i] = 1
		case s != nil && !seen[at.episode] && (s.time == now || repeated):
			seen[at.episode] = true
			played[i] = s
		case now == 0: // several members begin with one state
			again, seeds = append(again, i), append(seeds, at.seed)
		case at.session != p.session:
			lost, others = append(lost, i), append(others, seedOf(keys[8*i:]))
		case s == nil:
			return nil, fmt.Errorf("more episodes are open than %d, the most of this run, and one of them was given up",
				len(p.slots))
		default:
			return nil, errors.New("an episode goes on from one state twice, and the state of another process cannot " +
				"be copied: use an environment on the device")
		}
		if s := played[i]; s != nil {
			s.used = p.clock
		}
	}
	begun, err := p.begin(seeds)
	if err != nil {
		return nil, err
	}
	for k, i := range again {
		played[i] = begun[k]
	}
	var batch []*slot
	for i, s := range played {
		if s != nil && s.time == int32(binary.LittleEndian.Uint32(times[4*i:])) {
			s.action = append(s.action[:0], actions[i*actionWidth:(i+1)*actionWidth]...)
			batch = append(batch, s)
		}
	}
	if err := p.play(batch); err != nil {
		return nil, err
	}
	for i, s := range played {
		if s == nil {
			continue
		}
		out.put(i, s.last.observation, handle{p.session, s.episode, s.seed})
		binary.LittleEndian.PutUint32(out.rewards[4*i:], math.Float32bits(s.last.reward))
		out.terminated[i], out.truncated[i] = flag(s.last.terminated), flag(s.last.truncated)
	}
	if begun, err = p.begin(others); err != nil {
		return nil, err
	}
	for k, i := range lost {
		out.put(i, begun[k].last.observation, handle{p.session, begun[k].episode, begun[k].seed})
		out.truncated[i] = 1
	}
	return out.arrays(p.spec), nil
}

// play plays the actions of a batch.
func (p *pool) play(batch []*slot) error {
	if len(batch) == 0 {
		return nil
	}
	columns := []column{p.local(batch), func(to []byte, i int) []byte { return append(to, batch[i].action...) }}
	widths := []int{p.spec.Observation.Shape().Bytes(), 4, 1, 1}
	err := p.request("step", batch, columns, widths, func(i int, rows [][]byte) {
		batch[i].last = answer{rows[0], math.Float32frombits(binary.LittleEndian.Uint32(rows[1])), rows[2][0] != 0,
			rows[3][0] != 0}
	})
	if err != nil {
		return err
	}
	for _, s := range batch {
		s.time++
		if err := p.check(s); err != nil {
			return err
		}
		if s.last.terminated || s.last.truncated {
			p.free = append(p.free, s)
		}
	}
	return nil
}

func flag(x bool) byte {
	if x {
		return 1
	}
	return 0
}
