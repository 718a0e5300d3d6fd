package hostsim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/evolve/hosts"
	. "xlarun/rollout/evolve/hosts/hostsim"
)

const ms = time.Millisecond

// usualOptions are hosts whose generation takes 200 ms on one of them.
func usualOptions(n int) Options {
	return Options{Hosts: n, Chunks: 20, Generations: 20, RowBytes: 100, Chunk: 10 * ms, Update: ms, Delay: 200 * time.
		Microsecond}
}

// smallOptions are hosts whose generation takes 2 ms on one of them, for 12 s.
func smallOptions(n int) Options {
	return Options{Hosts: n, Chunks: 4, Generations: 6000, RowBytes: 20, Chunk: ms / 2, Delay: ms / 5}
}

// alone returns the states of one host.
func alone(t *testing.T) []string {
	r := Run(usualOptions(1), time.Hour)
	require.Len(t, r.History[0], 20)
	return r.History[0]
}

// requireSame checks that all hosts that were there at the end have the states of one host alone.
func requireSame(t *testing.T, r Result, want []string) {
	t.Helper()
	require.Empty(t, r.Errors)
	require.NotEmpty(t, r.States)
	for host, states := range r.History {
		if _, ended := r.States[host]; !ended {
			continue
		}
		require.Len(t, states, len(want))
		for g, digest := range states {
			if digest != "" {
				require.Equal(t, want[g], digest, "host %d after generation %d", host, g+1)
			}
		}
	}
}

// Hosts share a generation, and have the states of one host.
func TestHostsShareAGeneration(t *testing.T) {
	want := alone(t)
	one := Run(usualOptions(1), time.Hour).Time
	for _, n := range []int{2, 3, 4, 7, 20} {
		r := Run(usualOptions(n), time.Hour)
		requireSame(t, r, want)
		require.Len(t, r.States, n)
		twice, computed := 0, 0
		for _, s := range r.Stats {
			computed += s.Chunks
			twice += s.Duplicates
		}
		require.GreaterOrEqual(t, computed, 400)
		require.LessOrEqual(t, computed, 440, "%d hosts", n)
		// 20 chunks over n hosts take ceil(20/n) turns.
		turns := (20 + n - 1) / n
		require.Less(t, r.Time, one*time.Duration(turns)/20+20*5*ms, "%d hosts", n)
	}
}

// One of several hosts computes generations that are short, in the time that it takes alone, and the others get all
// states: each host computed its part of each, and all of them updated their state.
func TestShortGenerationsAreNotShared(t *testing.T) {
	one := Run(smallOptions(1), time.Hour)
	for _, n := range []int{2, 3, 7} {
		r := Run(smallOptions(n), time.Hour)
		require.Empty(t, r.Errors)
		require.Len(t, r.States, n)
		chunks := 0
		for host, s := range r.Stats {
			chunks += s.Chunks
			require.Equal(t, one.States[0], r.States[host])
		}
		require.Less(t, chunks, 6000*4*101/100, "%d hosts", n)
		require.Less(t, r.Time, one.Time+50*ms, "%d hosts", n)
		require.Less(t, r.Messages, 13*8*n, "%d hosts", n) // a beat, a request and a state of a part in a second
	}
}

// Whether hosts share a generation depends on its time, on what each of them does for itself, and on their number.
func TestGenerationsThatAreNotWorthSharing(t *testing.T) {
	for _, c := range []struct {
		name                 string
		hosts                int
		whole, update, delay time.Duration
		shared               bool
	}{
		{"one host does not compute chunk by chunk", 1, 30 * ms, 6 * ms, 0, false},
		{"two hosts take 21 ms instead of 36", 2, 30 * ms, 6 * ms, 0, true},
		{"three take 16 ms, two thirds more than they would without updates", 3, 30 * ms, 6 * ms, 0, false},
		{"eight take 10 ms", 8, 30 * ms, 6 * ms, 0, true},
		{"updates take as long as the rest", 8, 30 * ms, 30 * ms, 0, false},
		{"messages take as long as the rest", 3, 30 * ms, ms, 15 * ms, false},
		{"long generations", 3, 240 * ms, 100 * ms, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Hosts: c.hosts, Chunks: 24, Generations: 250, RowBytes: 20, Chunk: c.whole / 24,
				Update: c.update, Delay: max(c.delay, ms/10), Together: true}
			r := Run(o, time.Hour)
			require.Empty(t, r.Errors)
			require.Len(t, r.States, c.hosts)
			most := 0
			for _, s := range r.Stats {
				most = max(most, s.Chunks)
			}
			all := o.Chunks * int(o.Generations)
			if c.shared {
				require.Less(t, most, all*11/10/c.hosts)
				return
			}
			require.Greater(t, most, all*94/100)
			o.Hosts = 1
			require.Less(t, r.Time, Run(o, time.Hour).Time*103/100)
			require.Less(t, r.Messages, all/4, "a message for each chunk")
		})
	}
}

// A host that leads is killed, suspended or cut off, or another one joins: the others go on where they are, and two
// that lead become one.
func TestFaultsOfAHostThatLeads(t *testing.T) {
	one := Run(smallOptions(1), time.Hour)
	for name, c := range map[string]struct {
		faults []Fault
		lost   time.Duration
	}{
		"killed":           {[]Fault{{5000 * ms, 0, Kill}}, 5 * time.Second},
		"killed and back":  {[]Fault{{5000 * ms, 0, Kill}, {6000 * ms, 0, Start}}, 6 * time.Second},
		"late":             {[]Fault{{5000 * ms, 0, Start}}, 50 * ms},
		"suspended":        {[]Fault{{5000 * ms, 0, Suspend}, {11000 * ms, 0, Continue}}, 7 * time.Second},
		"suspended, short": {[]Fault{{5000 * ms, 0, Suspend}, {6000 * ms, 0, Continue}}, 1100 * ms},
		"cut off":          {[]Fault{{5000 * ms, 0, Cut}, {10000 * ms, 0, Heal}}, 50 * ms},
		"all cut off": {[]Fault{{3000 * ms, 0, Cut}, {3000 * ms, 1, Cut}, {3000 * ms, 2, Cut}, {9000 * ms, 0, Heal},
			{9000 * ms, 1, Heal}, {9000 * ms, 2, Heal}}, 50 * ms},
	} {
		o := smallOptions(3)
		o.Faults = c.faults
		r := Run(o, time.Hour)
		t.Run(name, func(t *testing.T) {
			requireSame(t, r, one.History[0])
			require.Less(t, r.Time, one.Time+c.lost)
			require.GreaterOrEqual(t, len(r.States), 2)
		})
	}
}

// A fast host takes chunks of a slow one.
func TestFastHostsTakeMore(t *testing.T) {
	o := usualOptions(2)
	o.Speed = func(host int) float64 { return []float64{1, 3}[host] }
	r := Run(o, time.Hour)
	requireSame(t, r, alone(t))
	one := Run(usualOptions(1), time.Hour).Time
	require.Less(t, r.Time, one*32/100)
}

// Hosts that are killed, suspended, cut off or late change no byte.
func TestFaults(t *testing.T) {
	want := alone(t)
	for name, faults := range map[string][]Fault{
		"killed":             {{50 * ms, 0, Kill}},
		"two killed":         {{50 * ms, 0, Kill}, {500 * ms, 1, Kill}},
		"killed and back":    {{50 * ms, 0, Kill}, {700 * ms, 0, Start}},
		"late":               {{600 * ms, 2, Start}},
		"suspended":          {{100 * ms, 1, Suspend}, {900 * ms, 1, Continue}},
		"suspended for long": {{100 * ms, 1, Suspend}, {30 * time.Second, 1, Continue}},
		"cut off":            {{100 * ms, 0, Cut}, {900 * ms, 0, Heal}},
		"all cut off":        {{100 * ms, 0, Cut}, {100 * ms, 1, Cut}, {100 * ms, 2, Cut}, {5000 * ms, 0, Heal}},
	} {
		o := usualOptions(3)
		o.Faults = faults
		r := Run(o, time.Hour)
		t.Run(name, func(t *testing.T) { requireSame(t, r, want) })
	}
}

// Random faults and lost messages, of generations that are shared and of short ones. One host is never killed.
func TestRandomFaults(t *testing.T) {
	short := smallOptions(1)
	short.Generations = 3000
	wants := [2][]string{alone(t), Run(short, time.Hour).History[0]}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		o, want := usualOptions(2+r.IntN(4)), wants[seed%2]
		if seed%2 == 1 {
			short.Hosts = o.Hosts
			o = short
		}
		o.Seed, o.Loss = seed, []float64{0, .01, .2}[r.IntN(3)]
		o.Speed = func(host int) float64 { return []float64{1, .5, 2, 1.1, .9}[host] }
		for range r.IntN(8) {
			at, host := time.Duration(r.IntN(1500))*ms, 1+r.IntN(o.Hosts-1)
			pair := [][2]What{{Kill, Start}, {Suspend, Continue}, {Cut, Heal}}[r.IntN(3)]
			o.Faults = append(o.Faults, Fault{at, host, pair[0]},
				Fault{at + time.Duration(1+r.IntN(6000))*ms, host, pair[1]})
		}
		result := Run(o, time.Hour)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			requireSame(t, result, want)
			require.Contains(t, result.States, 0)
		})
	}
}

// A kill costs less than the time of a chunk, on average over when it happens.
func TestAKillCostsLessThanAChunk(t *testing.T) {
	want := alone(t)
	o := usualOptions(2)
	o.Update = 0                   // so that the work that was done before the kill is known
	both := Run(o, time.Hour).Time // undisturbed
	lost := time.Duration(0)
	const kills = 40
	for i := range kills {
		at := time.Duration(400+7*i) * ms
		o.Faults = []Fault{{at, 1, Kill}}
		r := Run(o, time.Hour)
		requireSame(t, r, want)
		// After the kill one host takes twice the time that both would have taken.
		lost += r.Time - at - 2*(both-at)
	}
	require.Less(t, lost/kills, o.Chunk)
}

// A machine that computes wrong rows is found when a chunk is computed twice.
func TestABrokenMachineIsFound(t *testing.T) {
	o := usualOptions(2)
	o.Speed = func(host int) float64 { return []float64{1, .1}[host] } // host 0 computes what host 1 is late with
	o.Faults = []Fault{{300 * ms, 1, Break}}
	r := Run(o, time.Hour)
	var m *hosts.Mismatch
	require.True(t, errors.As(errors.Join(r.Errors[0], r.Errors[1]), &m), "errors: %v", r.Errors)
	require.Equal(t, 99, m.Offset)
	require.ElementsMatch(t, []string{"host0.1", "host1.1"}, m.Hosts[:])
}

// Hosts whose processors do other things, whose messages take long, or whose process ends long after its last
// generation, hold the others up for seconds, not for the rest of the run.
func TestSlowHosts(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		o := Options{Hosts: 3, Chunks: 16, Generations: 30, RowBytes: 20, Seed: seed, Slow: .5, Update: ms / 10,
			Chunk: ms/5 + time.Duration(r.IntN(500))*time.Microsecond, Compile: time.Duration(r.IntN(2)) * time.Second,
			Delay:   []time.Duration{ms / 5, 300 * ms, time.Second}[r.IntN(3)],
			Closing: time.Duration(r.IntN(2)) * time.Minute}
		alone := o
		alone.Hosts = 1
		one := Run(alone, time.Hour)
		o.Faults = []Fault{{45 * ms, 1, Kill}, {145 * ms, 1, Start}, {176 * ms, 1, Cut}, {713 * ms, 0, Away},
			{1766 * ms, 0, Back}, {2684 * ms, 2, Suspend}, {2684 * ms, 0, Away}, {3230 * ms, 0, Back},
			{3234 * ms, 2, Continue}, {3234 * ms, 1, Heal}}
		result := Run(o, time.Hour)
		requireSame(t, result, one.History[0])
		require.Len(t, result.States, 3)
		require.Less(t, result.Time, one.Time+30*time.Second, "seed %d", seed)
	}
}
