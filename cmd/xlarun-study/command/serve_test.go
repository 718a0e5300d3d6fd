package command

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/cli"
	"xlarun/internal/credentials"
	"xlarun/studies"
)

var joinsBy = regexp.MustCompile(`xlarun evolve ENV --join (nats://127\.0\.0\.1:\d+)/NAME --token-file token\n`)

var metricsAt = regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`)

// A server with TLS printed nats://, which its file did not have.
func TestJoinAddress(t *testing.T) {
	at, also := joinAddress(studies.Listen{TLS: &tls.Config{}}, "127.0.0.1:4222")
	require.Equal(t, [2]string{"tls://127.0.0.1:4222", ""}, [2]string{at, also})
	at, _ = joinAddress(studies.Listen{}, "127.0.0.1:4222")
	require.Equal(t, "nats://127.0.0.1:4222", at)
}

// The page of a study at a server of others has its own token and certificate: there was none beside a user of NATS,
// and without one the certificate had no effect.
func TestThePageOfAStudyThatJoins(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cert, key := pair(t)
	f := credentials.Files{TokenFile: file("token", "a-token-of-16-or-more"), TLSCert: file("cert", cert),
		TLSKey: file("key", key)}
	creds := f
	creds.NKey = file("nkey", "SUAAFCPAHF3U47WGZCCKXWOM5H3H7LO7UILNHZ3JKNK6GULPA5W4WXR3EQ")
	for token, files := range map[string]credentials.Files{"": creds, "a-token-of-16-or-more": f} {
		access := &accessFlags{files}
		at, err := access.join(serveCommand(&cli.App{}), "nats://a:1/study", 0)
		require.NoError(t, err)
		require.Equal(t, token, at.Token)
		l, err := access.page("0.0.0.0:0")
		require.NoError(t, err)
		require.NoError(t, l.Check())
		require.Equal(t, "a-token-of-16-or-more", l.Token)
		require.Len(t, l.TLS.Certificates, 1)
	}
}

// pair returns a certificate and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	x := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certData, err := x509.CreateCertificate(rand.Reader, x, x, public, private)
	require.NoError(t, err)
	keyData, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certData})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyData}))
}

// A server whose address file cannot be written ends with an error: it ran on, and whoever joined by the file waited.
func TestServeWithoutItsAddressFile(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(s.Path("spec.toml"), []byte("name = \"one\"\nmetric = \"best_fitness\"\n"+smallRun),
		0o666))
	for _, args := range [][]string{{}, {"spec.toml", "--no-workers", "--web", "none"}} {
		server := s.Command(slices.Concat([]string{"serve"}, args, []string{"--listen", "127.0.0.1:0", "--address-file",
			"missing/server"})...)
		require.NoError(t, server.Start())
		require.Equal(t, 1, server.Ended())
		require.Contains(t, server.Err.String(), "--address-file missing/server cannot be written: no such file")
	}
}

// Serve without a study carries the messages of hosts, with a token, until it is interrupted. A flag of studies
// is refused.
func TestServeWithoutAStudy(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NotContains(t, s.Refused(t, "serve", "--json=false", "--until-done", "--linger", "1s"), "--json")
	require.Contains(t, s.Refused(t, "serve", "--no-workers"), "--no-workers got \"true\", but there is no study")
	require.Contains(t, s.Refused(t, "serve", "--listen", "0.0.0.0:0"), "give a token")
	require.NoError(t, os.WriteFile(s.Path("token"), []byte("a-token-of-16-or-more"), 0o600))
	server := s.Command("serve", "--listen", "127.0.0.1:0", "--token-file", "token", "--address-file", "server",
		"--web", "127.0.0.1:0")
	out, err := os.Create(s.Path("output"))
	require.NoError(t, err)
	server.Stdout = out
	require.NoError(t, server.Start())
	var args []string
	defer func() {
		require.NoError(t, server.Process.Signal(syscall.SIGINT))
		require.Equal(t, 0, server.Ended(), "%s", &server.Err)
		require.NoError(t, out.Close())
		require.Equal(t, "over\n", s.Read(t, "server"))
		late := s.Result(t, append(args, "--join", "@server", "--out", "late")...) // it was an error
		require.Equal(t, map[string]any{"over": true}, late)
		require.NoDirExists(t, s.Path("late"))
	}()
	require.Eventually(t, func() bool { return joinsBy.MatchString(s.Read(t, "output")) }, time.Minute,
		10*time.Millisecond)
	require.Contains(t, s.Refused(t, "serve", "--listen", strings.TrimPrefix(joinsBy.FindStringSubmatch(
		s.Read(t, "output"))[1], "nats://")), "address already in use: give another port")
	address := joinsBy.FindStringSubmatch(s.Read(t, "output"))[1]
	args = []string{"evolve", "CartPole-v1", "--backend", "reference", "--policy", "linear", "--pop", "8", "--tile",
		"2", "--steps", "5", "--generations", "3", "--target", "0", "--eval-episodes", "1"}
	s.Do(t, append(args, "--out", "one")...)
	require.Equal(t, address+"\n", s.Read(t, "server"))
	alone := args
	args = append(args, "--join", "@server:try", "--hosts", "2")
	stranger := s.Command(append(args, "--out", "none")...)
	require.NoError(t, stranger.Start())
	require.Equal(t, 4, stranger.Ended())
	require.Contains(t, stranger.Err.String(), "wants a token: give it by --token-file or the variable XLARUN_TOKEN")
	args = append(args, "--token-file", "token")
	other := s.Command(append(args, "--out", "two")...)
	require.NoError(t, other.Start())
	s.Do(t, append(args, "--out", "three")...)
	require.Equal(t, 0, other.Ended(), "%s", &other.Err)
	for _, folder := range []string{"two", "three"} {
		require.Equal(t, s.Read(t, "one", "metrics.jsonl"), s.Read(t, folder, "metrics.jsonl"))
	}
	page, err := http.NewRequestWithContext(t.Context(), http.MethodGet, metricsAt.FindString(s.Read(t, "output")), nil)
	require.NoError(t, err)
	page.Header.Set("Authorization", "Bearer a-token-of-16-or-more")
	seen, err := http.DefaultClient.Do(page)
	require.NoError(t, err)
	metrics, err := io.ReadAll(seen.Body)
	require.NoError(t, errors.Join(err, seen.Body.Close()))
	require.Contains(t, string(metrics), "\nxlarun_generation{run=\"try\"} 3\n")
	late := s.Result(t, append(args, "--out", "four", "--hosts", "1")...) // it computed all of it again
	require.Equal(t, map[string]any{"over": true}, late)
	require.NoDirExists(t, s.Path("four"))
	args = alone
}
