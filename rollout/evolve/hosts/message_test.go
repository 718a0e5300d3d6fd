package hosts

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A message is read as it was written, and foreign bytes are refused.
func TestMessages(t *testing.T) {
	for _, m := range []Message{
		{Kind: Hello, From: "a", Run: "r", Identity: Identity{"seed": "1"}, Data: []byte{}},
		{Kind: Rows, From: "a", To: "b", Run: "r", Generation: 1 << 40, Chunks: []int{0, 7}, Data: []byte{0, 255, 10}},
		{Kind: State, From: "a", To: "b", Run: "r", Fragment: 1, Fragments: 2, Data: make([]byte, 1<<20)},
	} {
		b := m.Encode()
		got, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, m, got)
		header := len(b) - len(m.Data)
		for n := range header {
			_, err := Decode(b[:n])
			require.Error(t, err, "%d bytes", n)
		}
	}
	for _, b := range []string{"", "\x00", "\x02{}", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x05[1,2]",
		"\x0f{\"kind\":\"beat\"}"} {
		_, err := Decode([]byte(b))
		require.Error(t, err, "%q", b)
	}
}

// Hostile numbers in messages do nothing.
func TestHostileMessages(t *testing.T) {
	id := Identity{"seed": "1"}
	h := New("me", id, 3)
	h.Resize(4)
	for _, m := range []Message{
		{Kind: Begin, Chunks: []int{-1, 1 << 40}, Generation: 3},
		{Kind: Rows, Chunks: []int{-1}, Generation: 3},
		{Kind: Rows, Chunks: []int{1 << 40}, Generation: 3},
		{Kind: Rows, Generation: 3},
		{Kind: Rows, Chunks: []int{1}, Generation: 1 << 60},
		{Kind: Rows, Chunks: []int{1}, Generation: -1 << 60},
		{Kind: RowsRequest, Chunks: []int{-1, 9}, Generation: 3},
		{Kind: State, Fragment: -1, Fragments: 1, Generation: 9},
		{Kind: State, Fragment: 5, Fragments: 5, Generation: 9},
		{Kind: State, Fragment: 0, Fragments: 1, Generation: 2},
		{Kind: "unknown"},
	} {
		m.From, m.Run = "other", id.Digest()
		out, err := h.Receive(0, m)
		require.NoError(t, err)
		require.Empty(t, out)
	}
	require.Equal(t, []int{0, 1, 2, 3}, h.round.missingChunks()[:4])
	require.Nil(t, h.checkpoint)
}

// The error of another run names the first setting that differs, and the probe only if nothing else does.
func TestRefused(t *testing.T) {
	const version = " (b there, a here): install the same version of xlarun on both"
	mine := Identity{"seed": "1", "pop": "8", ProtocolKey: "a", PluginKey: "a", VersionKey: "a", ProbeKey: "aa"}
	for want, other := range map[string]Identity{
		"pop is 16 there, 8 here":      {"seed": "2", "pop": "16", ProbeKey: "bb"},
		"seed is not set there":        {"seed": "", ProbeKey: "bb"},
		"has the digest aa here, bb t": {ProbeKey: "bb"},
		"extra is x there, not set":    {"extra": "x"},

		"speaks another protocol" + version:                          {"seed": "2", ProtocolKey: "b"},
		"is another version" + version:                               {VersionKey: "b", ProbeKey: "bb", PluginKey: "b"},
		"has another build of the plugin (b there, a here): install": {PluginKey: "b", ProbeKey: "bb"},
	} {
		theirs := maps.Clone(mine)
		maps.Copy(theirs, other)
		h, there := New("me", mine, 0), New("there", theirs, 0)
		out, err := there.Receive(0, h.Hello())
		require.NoError(t, err)
		require.Len(t, out, 1)
		_, err = h.Receive(0, out[0])
		require.ErrorContains(t, err, want)
	}
}

// TestHostsThatLeftHaveJoined: a host that compiled while another one did the whole run waited for it for
// ever.
func TestHostsThatLeftHaveJoined(t *testing.T) {
	identity := Identity{"seed": "1"}
	h := New("a", identity, 0)
	require.Equal(t, 1, h.Count(0))
	for range 2 {
		_, err := h.Receive(0, Message{Kind: Hello, From: "b", Run: identity.Digest()})
		require.NoError(t, err)
	}
	require.Equal(t, 2, h.Count(0))
	_, err := h.Receive(0, Message{Kind: Leave, From: "b", Run: identity.Digest(), Generation: 1})
	require.NoError(t, err)
	require.Equal(t, 2, h.Count(0))
	require.Equal(t, []string{"a"}, h.Alive(0))
	for _, kind := range []Kind{Hello, Leave} {
		_, err := h.Receive(0, Message{Kind: kind, From: "c", Run: identity.Digest()})
		require.NoError(t, err)
	}
	require.Equal(t, 2, h.Count(0), "one that has waited too long for others does not count")
	_, err = h.Receive(0, Message{Kind: Hello, From: "d", Run: identity.Digest()})
	require.NoError(t, err)
	require.Equal(t, 3, h.Count(AliveFor))
	require.Equal(t, 2, h.Count(AliveFor+1), "one that was killed while it waited does not count: it did")
}

// A host forgets hosts that are gone and what came of their states, and counts no more than a run may wait for.
func TestHostsForget(t *testing.T) {
	identity := Identity{"seed": "1"}
	h := New("a", identity, 0)
	for i := range 2 * mostNames {
		m := Message{Kind: State, From: fmt.Sprint(i), Run: identity.Digest(), Generation: 9, Fragments: 2}
		_, err := h.Receive(0, m)
		require.NoError(t, err)
		if i%2 == 0 {
			m.Kind = Leave
			_, err := h.Receive(0, m)
			require.NoError(t, err)
		}
	}
	require.Equal(t, mostNames, h.Count(0))
	require.Len(t, h.peers, mostNames)
	require.Len(t, h.fragments, mostNames)
	h.Resize(0)
	require.True(t, h.Next(AliveFor+1, 1).Complete)
	require.Empty(t, h.fragments)
	require.Len(t, h.peers, mostNames, "they may come back")
	require.True(t, h.Next(goneAfter+1, 1).Complete)
	require.Empty(t, h.peers)
	h.fragments.Add(Message{From: "b", Generation: 3, Fragments: 2})
	h.fragments.drop(2, func(string) bool { return false })
	require.Len(t, h.fragments, 1)
	h.fragments.drop(3, func(string) bool { return false })
	require.Empty(t, h.fragments, "this host is as far by now")
}

// A host that leads, because other programs had the processors when sharing was tried, tries it again.
func TestAHostThatLeadsTriesAgain(t *testing.T) {
	identity := Identity{"seed": "1"}
	h := New("a", identity, 0)
	generation := int64(0)
	at := func(now time.Duration, led bool) bool {
		generation++
		_, err := h.Receive(now, Message{Kind: Beat, From: "b", Run: identity.Digest(), Generation: generation})
		require.NoError(t, err)
		return h.leads(now, led)
	}
	require.False(t, at(0, false), "no time is known")
	h.whole.add(60 * time.Millisecond)
	for range trials {
		require.False(t, at(0, false), "they try")
		h.own.add(50 * time.Millisecond)
	}
	require.True(t, at(0, false))
	require.True(t, at(tryAgain, true))
	require.False(t, at(tryAgain+1, true))
	for range trials {
		h.own.add(5 * time.Millisecond)
	}
	require.False(t, at(tryAgain+2, false), "now it gains")
	for _, pause := range []time.Duration{0, AliveFor, 2 * AliveFor} { // of both, to compile or to validate
		now := tryAgain + 3 + pause
		_, err := h.Receive(now, Message{Kind: Beat, From: "b", Run: identity.Digest()})
		require.NoError(t, err)
		require.False(t, h.leads(now, false), pause)
	}
}

// A host that says that it is alive and computes nothing kept the others from finding out what sharing gains.
func TestAHostThatStandsStill(t *testing.T) {
	identity := Identity{"seed": "1"}
	h := New("a", identity, 0)
	at := func(now time.Duration, m Message) {
		m.Run = identity.Digest()
		_, err := h.Receive(now, m)
		require.NoError(t, err)
	}
	for i := range int64(2 * trials) {
		now := time.Duration(i) * BeatEvery
		at(now, Message{Kind: Beat, From: "still"})
		at(now, Message{Kind: Beat, From: "b", Generation: i})
		h.Resize(2)
		require.Equal(t, []int{0}, h.Next(now, 1).Compute)
		_, err := h.Computed(now+time.Second/2, []int{0}, [][]byte{{1}})
		require.NoError(t, err)
		at(now+time.Second/2, Message{Kind: Rows, From: "b", Generation: i, Chunks: []int{1}, Data: []byte{2}})
		require.True(t, h.Next(now+time.Second/2, 1).Complete)
		h.Finish()
	}
	require.GreaterOrEqual(t, h.own.count, trials)
}
