package messaging

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"xlarun/internal/credentials"
)

// An address has servers and a name, or a file. The error of a wrong one says what an address is.
func TestAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"nats://head:4222/try":       {URLs: []string{"nats://head:4222"}, Name: "try"},
		"nats://head:4222":           {URLs: []string{"nats://head:4222"}},
		"tls://head/a_b-C9/":         {URLs: []string{"tls://head"}, Name: "a_b-C9"},
		"nats://[::1]:4222,b:1,c/it": {URLs: []string{"nats://[::1]:4222", "nats://b:1", "nats://c"}, Name: "it"},
		"@server":                    {File: "server"},
		"@/a/b:c/server-7:try":       {File: "/a/b:c/server-7", Name: "try"},
		"@/a/b:c/server.txt":         {File: "/a/b:c/server.txt"},
	} {
		a, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, a)
	}
	for text, want := range map[string]string{
		"":                     "nats://HOST:PORT/NAME, tls://HOST:PORT/NAME or @FILE:NAME",
		"http://head/try":      "nats://HOST:PORT/NAME, tls://HOST:PORT/NAME or @FILE:NAME",
		"nats:///try":          "nats://HOST:PORT/NAME, tls://HOST:PORT/NAME or @FILE:NAME",
		"nats://u:p@head/try":  "an address without a password",
		"nats://head:4222/a b": "a name after the server",
		"nats://head:0":        "nats://HOST:PORT, or several",
		"nats://a,,b":          "nats://HOST:PORT, or several",
		"@":                    "@FILE or @FILE:NAME",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// An error of a server says what to do.
func TestUnreachable(t *testing.T) {
	a := Address{URLs: []string{"nats://127.0.0.1:1"}}
	_, err := Server{Address: a}.Connect(t.Context(), "test")
	require.ErrorContains(t, err, "nats://127.0.0.1:1 cannot be reached")
	require.ErrorContains(t, err, "start xlarun serve or nats-server -js there")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Server{Address: a, Wait: time.Hour}.Connect(ctx, "test")
	require.ErrorIs(t, err, context.Canceled)
	for cause, want := range map[error]string{
		nats.ErrAuthorization:         "the server at nats://a wants a token: give it by the variable XLARUN_TOKEN",
		nats.ErrSecureConnRequired:    "tls://",
		errors.New("no such machine"): "start xlarun serve",
	} {
		require.ErrorContains(t, Server{Address: Address{URLs: []string{"nats://a"}}}.Unreachable(cause), want)
	}
}

// serve starts a server and writes its address into a file.
func serve(t *testing.T, file string) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(10*time.Second))
	require.NoError(t, os.WriteFile(file+".new", []byte("nats://"+s.Addr().String()+"\n"), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
	return s
}

// watched is a bucket whose looks yield these keys, "" for the mark that all are there, and then an error.
type watched struct {
	nats.KeyValue
	nats.KeyWatcher
	looks [][]string
	late  error
}

func (w *watched) WatchAll(...nats.WatchOpt) (nats.KeyWatcher, error) { return w, nil }

func (w *watched) Updates() <-chan nats.KeyValueEntry {
	all := make(chan nats.KeyValueEntry, len(w.looks[0]))
	for _, key := range w.looks[0] {
		if key == "" {
			all <- nil
		} else {
			all <- entry{key: key}
		}
	}
	close(all)
	w.looks = w.looks[1:]
	return all
}

func (w *watched) Error() <-chan error {
	late := make(chan error, 1)
	late <- w.late
	return late
}

func (*watched) Stop() error { return nil }

type entry struct {
	nats.KeyValueEntry
	key string
}

func (e entry) Key() string { return e.key }

// Islands whose keys came late were taken for lost, and a server ended before runs whose notes came late.
func TestKeysAreAll(t *testing.T) {
	for _, c := range []struct {
		looks [][]string
		late  error
		want  []string
		err   error
	}{
		{[][]string{{"b", "a", ""}}, nil, []string{"a", "b"}, nil},
		{[][]string{{"a", "c", "a", ""}, {"a", "b", "c", ""}}, nil, []string{"a", "b", "c"}, nil},
		{[][]string{{"a", ""}}, nats.ErrKeyWatcherTimeout, nil, nats.ErrKeyWatcherTimeout},
		{[][]string{{"a"}}, nil, nil, nats.ErrConnectionClosed},
		{[][]string{{""}}, nil, nil, nats.ErrNoKeysFound},
	} {
		keys, err := Keys(&watched{looks: c.looks, late: c.late})
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.want, keys)
	}
}

// A client may start before its server, and follows it to where the file says, with its subscriptions. Hosts that
// started early failed, and those whose server moved went on alone for ever.
func TestTheServerMoves(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server")
	s := Server{Address: Address{File: file}, Wait: time.Minute}
	type result struct {
		conn *nats.Conn
		err  error
	}
	connected := make(chan result)
	go func() {
		conn, err := s.Connect(t.Context(), "early", nats.ReconnectWait(10*time.Millisecond))
		connected <- result{conn, err}
	}()
	first := serve(t, file)
	r := <-connected
	require.NoError(t, r.err)
	defer r.conn.Close()
	sub, err := r.conn.SubscribeSync("here")
	require.NoError(t, err)
	require.NoError(t, r.conn.Flush())
	first.Shutdown()
	second := serve(t, file)
	require.Eventually(t, func() bool { return r.conn.ConnectedAddr() == second.Addr().String() }, time.Minute,
		10*time.Millisecond)
	other, err := s.Connect(t.Context(), "other")
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, r.conn.Flush())
	require.NoError(t, other.Publish("here", []byte("a")))
	m, err := sub.NextMsg(10 * time.Second)
	require.NoError(t, err)
	require.Equal(t, "a", string(m.Data))

	// A file may say that it is over, or what nobody understands.
	require.NoError(t, os.WriteFile(file, []byte("over\n"), 0o600))
	_, err = s.Connect(t.Context(), "late")
	require.ErrorIs(t, err, ErrOver)
	require.NoError(t, os.WriteFile(file, []byte("head:4222"), 0o600))
	s.Wait = 0
	_, err = s.Connect(t.Context(), "late")
	require.ErrorContains(t, err, `has "head:4222", wants nats://HOST:PORT`)
}

// A server that knows users of NATS takes one by its nkey, and refuses others in one sentence.
func TestUsers(t *testing.T) {
	dir := t.TempDir()
	seed := func(name, text string) (path string) { // as nk -gen user -pubout writes it
		path = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	known := seed("known", "SUAAFCPAHF3U47WGZCCKXWOM5H3H7LO7UILNHZ3JKNK6GULPA5W4WXR3EQ")
	const public = "UA5NMOT52CW63FEQOS4IZWNWSM35MULI6PDWRXZEUZRMQNTGRP2DF5WY"
	stranger := seed("stranger", "SUAAVTIGIRSXLSEZGTS7RX4MLGMSOOQAS3WQSXWTDE2A46Y5MQUHPWZUOA")
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
		Nkeys: []*natsserver.NkeyUser{{Nkey: public}}})
	require.NoError(t, err)
	s.Start()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(10*time.Second))
	at := Server{Address: Address{URLs: []string{"nats://" + s.Addr().String()}}, Wait: time.Minute}
	require.NoError(t, at.Use(credentials.Files{NKey: known}, credentials.Worker))
	conn, err := at.Connect(t.Context(), "test")
	require.NoError(t, err)
	conn.Close()
	require.NoError(t, at.Use(credentials.Files{NKey: stranger}, credentials.Worker))
	_, err = at.Connect(t.Context(), "test")
	require.EqualError(t, err, "the server at "+at.URLs[0]+" refuses the user of --nkey "+stranger+": give one that "+
		"it knows")
	refused, ok := errors.AsType[*ConnectError](err)
	require.True(t, ok)
	require.Equal(t, CodeRefused, refused.ErrorCode())

	// Credentials are those that the server wants: the user's signed claims, and the seed.
	creds := seed("creds", "-----BEGIN NATS USER JWT-----\n-----END NATS USER JWT-----\n")
	require.NoError(t, os.Chmod(creds, 0o644))
	for want, files := range map[string]credentials.Files{
		"--creds " + creds + " has the permissions": {Creds: creds},
		"leave one of them out":                     {Creds: creds, NKey: known},
	} {
		require.ErrorContains(t, at.Use(files, credentials.Worker), want)
	}
}
