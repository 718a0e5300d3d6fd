package python

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/all"
	_ "xlarun/envs/tasks"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// client is Python's side of a server in this process.
type client struct {
	*testing.T
	server  *Server
	to      io.Writer
	from    *bufio.Reader
	backend xlabridge.Backend
}

// connect starts a server, which the end of the test ends.
func connect(t *testing.T) *client {
	in, to := io.Pipe()
	from, out := io.Pipe()
	b := xlatest.OpenCPU(t, 1)
	s := &Server{Open: func() (xlabridge.Backend, error) { return b, nil }}
	ended := make(chan error)
	go func() { ended <- s.Serve(t.Context(), in, out) }()
	t.Cleanup(func() {
		_ = to.Close()
		require.NoError(t, <-ended)
	})
	return &client{t, s, to, bufio.NewReader(from), b}
}

// request sends a line and returns the answer.
func (c *client) request(format string, args ...any) string {
	_, err := fmt.Fprintf(c.to, "17 "+format+"\n", args...)
	require.NoError(c, err)
	line, err := c.from.ReadString('\n')
	require.NoError(c, err)
	require.Equal(c, "17 ", line[:3])
	return line[3 : len(line)-1]
}

// shared is an object with its memory.
type shared struct {
	*client
	number int
	memory *memory
}

// object makes an object.
func (c *client) object(kind string, argument any) *shared {
	text, err := json.Marshal(argument)
	require.NoError(c, err)
	var made struct {
		Object int     `json:"object"`
		Bytes  int     `json:"bytes"`
		Stride int     `json:"stride"`
		Slots  int     `json:"slots"`
		Fields []field `json:"fields"`
	}
	answer := c.request("0 %s %s", kind, text)
	require.NoError(c, json.Unmarshal([]byte(answer), &made))
	require.Positive(c, made.Object, answer)
	require.Equal(c, made.Bytes, made.Stride*made.Slots)
	return &shared{c, made.Object, c.server.objects[made.Object].memory}
}

// call makes a request about a slot that has no answer.
func (s *shared) call(request string, slot int) {
	require.Equal(s, "null", s.request("%d %s %d", s.number, request, slot))
}

// at returns the bytes of a field.
func (s *shared) at(slot int, name string) []byte {
	for i, f := range s.memory.fields {
		if f.Name == name {
			return s.memory.at(slot, i)
		}
	}
	require.FailNow(s, "no field", name)
	return nil
}

func TestBadRequests(t *testing.T) {
	c := connect(t)
	strategy := func(change string) string {
		return `0 strategy {"name":"openes","popsize":4,"leaves":[{"path":"","dtype":"float32","shape":[3]}]` +
			change + `}`
	}
	vector := func(change string) string {
		return `0 vector {"id":"CartPole-v1","num_envs":2,"autoreset":"NextStep"` + change + `}`
	}
	archive := func(change string) string { return strings.Replace(strategy(change), "strategy", "archive", 1) }
	for _, row := range []struct{ line, want string }{
		{"x", `a request got object "x", wants one of 1`},
		{"9 ask 0", `a request got object "9", wants one of 1`},
		{"0 dance", `object 0 got the request "dance", which it does not have: the Python package and the program ` +
			`are of different versions`},
		{strategy(`,"name":"nope"`), `strategy: got "nope", want one of annealing`},
		{strategy(`,"popsize":3`), `popsize: got 3, want an even number from 2 to 16777216: openes samples its ` +
			`members in groups of 2`},
		{strategy(`,"popsize":16777216,"leaves":[{"path":"","dtype":"float32","shape":[1000000]}]`),
			`popsize: got 16777216, want at most `},
		{strategy(`,"name":"cmaes","leaves":[{"path":"","dtype":"float32","shape":[1000000]}]`), // was out of memory
			`popsize: got 4, want fewer or smaller members: the search takes about 21.8 TiB, which is more than`},
		{strategy(`,"name":"xnes","leaves":[{"path":"","dtype":"float32","shape":[1000000]}]`),
			`popsize: got 4, want fewer or smaller members: the search takes about 10.9 TiB, which is more than`},
		{archive(`,"ranges":[[0,1]],"leaves":[{"path":"","dtype":"float32","shape":[1000000]}],"settings":{"archive":` +
			`"grid:100000"}`),
			`popsize: got 4, want fewer or smaller members: the search takes about `},
		{strategy(`,"settings":{"learning_rat":1}`), `learning_rat: got a value, want one of the settings that the ` +
			`strategy openes has: learning_rate, sigma`},
		{strategy(`,"settings":{"sigma":-1}`), `sigma: got -1, want a number above 0`},
		{strategy(`,"leaves":[{"path":"['b']","dtype":"int32","shape":[3]}]`), `x0['b']: got the dtype int32, want ` +
			`float32`},
		{strategy(`,"leaves":[]`), `x0: got 0 numbers, want 1 to`},
		{strategy(`,"leaves":[{"path":"","dtype":"float32","shape":[0]}]`),
			`x0: got the shape [0], want one with elements`},
		{strategy(`,"name":"neat"`), `inputs: got 0, want 1 to 65536, of the networks of neat`},
		{archive(``), `ranges: got none, want the least and the greatest of each measure`},
		{archive(`,"ranges":[[0,0]]`), `ranges: got [0 0], want the least`},
		{archive(`,"ranges":[[0,1]],"settings":{"archive":"nsga2"}`), `archive: got "nsga2", want one that ` +
			`keeps members by one fitness`},
		{archive(`,"ranges":[[0,1]],"settings":{"env":"CartPole-v1"}`), `settings: got "env", want one of ` +
			`archive, emitter, strategy, qd_offset`},
		{archive(`,"ranges":[[0,1]],"settings":{"emitter":"searches"}`), `emitter_searches: got 8, want a ` +
			`number that divides popsize, 4,`},
		{archive(`,"ranges":[[0,1]],"settings":{"strategy":"cmaes"}`), `strategy: got "cmaes", want emitter ` +
			`searches with it: the emitter isoline has no strategy`},
		{archive(`,"ranges":[[0,1]],"settings":{"policy_anything":1}`), `settings: got "policy_anything", want one ` +
			`of archive, emitter, strategy, qd_offset`},
		{archive(`,"ranges":[[0,1]],"settings":{"emitter_iso_sig":1}`), `emitter_iso_sig: got a value, want one of ` +
			`the settings that the emitter isoline has: emitter_iso_sigma, emitter_line_sigma`},
		{strategy(`,"name":"neat","inputs":1,"outputs":1,"settings":{"policy_bia":1}`), `policy_bia: got a value`},
		{archive(`,"ranges":[[0,1]],"settings":{"learning_rate":2}`), `learning_rate: got 2, want a number ` +
			`from 0 to 1`},
		{vector(`,"id":"CartPol-v1"`), `id: envs: there is no environment "CartPol-v1", did you mean CartPole-v1?`},
		{vector(`,"id":"TicTacToe-v1"`), `id: got TicTacToe-v1, a game of 2 players, want an environment of one`},
		{vector(`,"num_envs":0`), `num_envs: got 0, want 1 to 16777216`},
		{vector(`,"id":"Humanoid-v5","num_envs":16777216`), `num_envs: got 16777216, want at most `},
		{vector(`,"params":{"gravit":1}`),
			`params: got "gravit=1", want one of the parameters that CartPole-v1 has`},
	} {
		var failed struct {
			Message string
			Status  int
		}
		require.NoError(t, json.Unmarshal([]byte(c.request("%s", row.line)), &failed), row.line)
		require.Equal(t, 2, failed.Status, row.line)
		require.Contains(t, failed.Message, row.want, row.line)
	}
}

// An object that was closed answers no more, and the others go on.
func TestClose(t *testing.T) {
	c := connect(t)
	first, second := c.object("strategy", searchOf("snes", 4, 1)), c.object("strategy", searchOf("snes", 4, 1))
	require.Equal(t, "null", c.request("0 close %d", first.number))
	require.Equal(t, "null", c.request("0 close %d", first.number))
	require.Contains(t, c.request("%d ask 0", first.number), "object that is closed, want a new one")
	require.Contains(t, c.request("%d tell 0", second.number), "want ask before each tell")
	second.call("start", 0)
	second.call("ask", 0)
	require.Contains(t, c.request("%d ask 7", second.number), `got the slot \"7\", want one of 3`)
}
