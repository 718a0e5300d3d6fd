package internal_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/network"
)

// Environment variables that make the test's binary a node: one that answers, one that asks.
const asServer, asClient = "XLARUN_TEST_SERVER", "XLARUN_TEST_CLIENT"

func TestMain(m *testing.M) {
	if at := os.Getenv(asServer); at != "" {
		l, err := net.Listen("tcp", at)
		if err != nil {
			panic(err)
		}
		fmt.Println("listens")
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}
	if at := os.Getenv(asClient); at != "" {
		c, err := net.Dial("tcp", at)
		if err != nil {
			panic(err)
		}
		go func() { _, _ = io.Copy(os.Stdout, c) }()
		_, _ = io.Copy(c, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// port on which a node listens.
func port(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().(*net.TCPAddr).Port
}

// What a link does to packets: a delay, a loss, a cut, and all is well again.
func TestLinks(t *testing.T) {
	t.Run("relays", func(t *testing.T) {
		t.Parallel()
		testLinks(t, network.NewRelays())
	})
	t.Run("namespaces", func(t *testing.T) {
		t.Parallel()
		n, why := network.New(2)
		if why != nil {
			t.Skipf("no network namespaces: %v", why)
		}
		testLinks(t, n)
	})
}

func testLinks(t *testing.T, n network.Network) {
	p := port(t)
	command := func(name, at string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), name+"="+at)
		cmd.Stderr = os.Stderr
		return cmd
	}
	server := command(asServer, net.JoinHostPort(n.Host(0), fmt.Sprint(p)))
	output, err := server.StdoutPipe()
	require.NoError(t, err)
	serverOver, err := n.Start(0, server)
	require.NoError(t, err)
	_, err = io.ReadFull(output, make([]byte, len("listens\n")))
	require.NoError(t, err)
	at, err := n.Address(1, 0, p)
	require.NoError(t, err)
	client := command(asClient, at)
	in, err := client.StdinPipe()
	require.NoError(t, err)
	out, err := client.StdoutPipe()
	require.NoError(t, err)
	clientOver, err := n.Start(1, client)
	require.NoError(t, err)
	echo := func(text string) time.Duration { // and how long it takes
		began := time.Now()
		_, err := io.WriteString(in, text)
		require.NoError(t, err)
		b := make([]byte, len(text))
		_, err = io.ReadFull(out, b)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
		return time.Since(began)
	}
	echo("a")
	const delay = 60 * time.Millisecond
	n.Set(1, 0, network.Link{Delay: delay})
	require.GreaterOrEqual(t, echo("b"), 2*delay)
	n.Set(0, 1, network.Link{Loss: .3})
	echo(strings.Repeat("c", 20000))
	n.Set(0, 1, network.Link{Cut: true})
	const cut = 300 * time.Millisecond
	began := time.Now()
	time.AfterFunc(cut, func() { n.Set(0, 1, network.Link{}) })
	echo("d")
	require.GreaterOrEqual(t, time.Since(began), cut)
	require.NoError(t, in.Close())
	<-clientOver
	require.NoError(t, server.Process.Kill())
	<-serverOver
	require.NoError(t, n.Close())
}

// A relay that is down refuses connections, and lets them through when it is up.
func TestRelayDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	r, err := network.NewRelay(l.Addr().String())
	require.NoError(t, err)
	echo := func() error {
		c, err := net.Dial("tcp", r.Address())
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		return err
	}
	require.NoError(t, echo())
	r.Down()
	r.Down()
	require.Error(t, echo())
	require.NoError(t, r.Up())
	require.NoError(t, r.Up())
	require.NoError(t, echo())
	r.Down()
}
