package studies

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"xlarun/internal/long"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// TestTrialsGoOn kills workers in trials of many rounds: another worker goes on from the checkpoint, and the results
// are the same to the bit. The lease is long: a killed worker loses its trial at once.
func TestTrialsGoOn(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace")
	more := func(trace string) string { // each round is stored
		return "trials = 4\nattempts = 1000\nlease = \"5s\"\ncheckpoint-every = \"1ms\"\n[run]\nsteps = 40\n" +
			"wait = \"5ms\"\ntrace = \"" + trace + "\"\n"
	}
	_, s := written(t, more(trace))
	done := make(chan error, 1)
	c := coordinator(s)
	go func() { done <- c.Run(t.Context()) }()
	kills, stored, rounds := 0, 0, 0 // stored: with a checkpoint; rounds at the last kill
	for over := false; !over; {
		select {
		case err := <-done:
			require.NoError(t, err)
			over = true
		case <-time.After(5 * time.Millisecond):
			text, _ := os.ReadFile(trace) // it may not be there yet
			if kills < 6 && len(text) >= rounds+40 {
				if pid := killOne(s, kills%2, syscall.SIGSTOP); pid != 0 {
					if hasCheckpoint(c, pid) {
						stored++
					}
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
					kills, rounds = kills+1, len(text)
				}
			}
		}
	}
	require.Positive(t, kills)
	trials := trialsOf(t, s)
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	restored := strings.Count(string(text), "r")
	t.Logf("%d kills, %d with a checkpoint; %d runs restored", kills, stored, restored)
	require.Positive(t, stored)
	require.Positive(t, restored, "a trial goes on from its checkpoint")
	alone := undisturbed(t, more(filepath.Join(t.TempDir(), "other")))
	require.Equal(t, alone, plainText(trials))
}

// hasCheckpoint reports whether a worker process has a trial with a stored checkpoint.
func hasCheckpoint(c *Coordinator, pid int) bool {
	for _, w := range c.Status().Workers {
		for _, id := range w.Leased {
			if strings.Contains(w.ID, fmt.Sprintf(":%d:", pid)) && c.server.Load().checkpoints.has(trialFile(id)) {
				return true
			}
		}
	}
	return false
}

// TestLostCheckpoints kills workers and coordinator, and deletes the checkpoints, or flips bits of them: trials begin
// anew, with the same results.
func TestLostCheckpoints(t *testing.T) {
	t.Parallel()
	rounds := 1
	if long.On() {
		rounds = 50
	}
	more := "trials = " + strconv.Itoa(8+12*rounds) + "\nlease = \"500ms\"\nattempts = 1000\ncheckpoint-every = " +
		"\"1ms\"\n[run]\nsteps = 30\nwait = \"2ms\"\n"
	path, s := written(t, more)
	workdir, _ := workdirOf(s.Storage)
	store := workdir.checkpoints(s.Name)
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	flipped := 0
	for range rounds {
		for _, damage := range []func(){
			func() { require.NoError(t, os.RemoveAll(store)) }, func() { flipped += flip(t, store, r) }} {
			cmd := again(asCoordinator, path)
			require.NoError(t, cmd.Start())
			untilFinished(t, s, 2+finished(t, s))
			require.Eventually(t, func() bool { return os.RemoveAll(store) == nil }, time.Minute, time.Millisecond)
			require.Eventually(t, func() bool {
				require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP)) // no trial ends while the file is looked for
				_, err := syscall.Wait4(cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
				require.NoError(t, err)
				kept, _ := os.ReadDir(store)
				if slices.ContainsFunc(kept, func(d fs.DirEntry) bool { return !strings.Contains(d.Name(), ".") }) {
					return true // not only a part of one
				}
				require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
				return false
			}, time.Minute, time.Millisecond, "the folder is made again")
			killOne(s, 0, syscall.SIGKILL)
			killOne(s, 1, syscall.SIGKILL)
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			damage()
		}
	}
	require.Positive(t, flipped)
	out, err := again(asCoordinator, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
	require.NoDirExists(t, store, "nothing of it is left at the end")
}

// flip changes a few bits of every file below a folder.
func flip(t *testing.T, dir string, r *rand.Rand) (files int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			return err
		}
		for range 1 + len(data)/200 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		files++
		return os.WriteFile(path, data, 0o600)
	}))
	return files
}

// TestFullDisk fills the file system of a study: the study pauses, reports path and free bytes, goes on once there is
// room, and has the same results.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(disk, 0o777))
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	defer func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) }()
	more := "trials = 30\nlease = \"500ms\"\ncheckpoint-every = \"40ms\"\nattempts = 1000\n[run]\nwait = \"2ms\"\n"
	_, s := written(t, "storage = \"sqlite:///"+disk+"/s.db\"\n"+more)
	var mu sync.Mutex
	notices := ""
	c := coordinator(s)
	c.Notice = func(line string) {
		mu.Lock()
		notices += line + "\n"
		mu.Unlock()
	}
	has := func(text string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(notices, text)
		}
	}
	f, err := os.Create(filepath.Join(disk, "filler"))
	require.NoError(t, err)
	fill := func() {
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		err = nil
	}
	began := make(chan struct{})
	first := sync.OnceFunc(func() { // the coordinator waits, so that the study cannot end before the disk is full
		fill()
		close(began)
	})
	c.Ended = func(*study.FrozenTrial, *study.FrozenTrial) { first() }
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	<-began
	for !has("no space left")() {
		fill() // what was freed meanwhile
		time.Sleep(time.Millisecond)
		select {
		case err := <-done:
			require.Fail(t, "the study ended", "%v %s", err, notices)
		default:
		}
	}
	require.Regexp(t, `no space left at \S+, of which \d+ bytes are free: the study pauses`, notices)
	require.NoError(t, f.Close())
	require.NoError(t, os.Remove(f.Name()))
	require.Eventually(t, has("there is room again"), time.Minute, 10*time.Millisecond)
	require.NoError(t, <-done, notices)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

// TestServed runs a study with workers that join by TCP and have no database. One is killed, one has the wrong token,
// and one comes after the end.
func TestServed(t *testing.T) {
	t.Parallel()
	more := "trials = 12\nattempts = 1000\nlease = \"400ms\"\n[run]\nwait = \"5ms\"\n"
	_, s := written(t, more)
	at := make(chan string, 1)
	done := make(chan error, 1)
	var c *Coordinator
	var url string
	serve := func() (leave func()) {
		c = coordinator(s)
		c.NoWorkers, c.Linger, c.Listen, c.Listening = true, time.Hour, Listen{Address: "127.0.0.1:0", Token: "right"},
			func(address string) { at <- address }
		ctx, leave := context.WithCancel(t.Context())
		go func() { done <- c.Run(ctx) }()
		url = "nats://" + <-at
		return leave
	}
	leave := serve()
	defer func() { leave() }()
	guest := func(token string) *exec.Cmd {
		cmd := again(asGuest, url)
		cmd.Env = append(cmd.Env, TokenVariable+"="+token)
		cmd.Dir = t.TempDir()
		return cmd
	}
	out, err := guest("wrong").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the worker is refused: the server at "+url+
		" refuses the token of the variable XLARUN_TOKEN: ")
	killed := guest("right")
	require.NoError(t, killed.Start())
	require.Eventually(t, func() bool { // it runs a trial
		return slices.ContainsFunc(c.Status().Workers, func(w WorkerStatus) bool { return len(w.Leased) > 0 })
	}, time.Minute, time.Millisecond)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	out, err = guest("right").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = guest("right").CombinedOutput()
	require.Error(t, err)
	require.Equal(t, ErrOver.Error()+"\n", string(out))
	leave()
	require.NoError(t, <-done)
	leave = serve() // after the end: it answered nobody
	out, err = guest("right").CombinedOutput()
	require.Error(t, err)
	require.Equal(t, ErrOver.Error()+"\n", string(out))
	leave()
	require.NoError(t, <-done)
	require.Equal(t, undisturbed(t, more), plainText(trialsOf(t, s)))
}

func TestListen(t *testing.T) {
	for i, c := range []struct {
		l    Listen
		want string
	}{
		{Listen{}, ""}, {Listen{Address: "127.0.0.1:1"}, ""}, {Listen{Address: "localhost:1"}, ""},
		{Listen{Address: "[::1]:1"}, ""}, {Listen{Address: "0.0.0.0:1", Token: "t"}, ""},
		{Listen{Address: "0.0.0.0:1"}, "give a token"}, {Listen{Address: ":1"}, "give a token"},
		{Listen{Address: "host:1"}, "give a token"}, {Listen{Address: "nowhere"}, "wants HOST:PORT"},
	} {
		err := c.l.Check()
		if c.want == "" {
			require.NoError(t, err, i)
		} else {
			require.ErrorContains(t, err, c.want, i)
		}
	}
}

// TestForeignTrials: the study reports trials that another program adds, and does not count them. It does not wait for
// one that is running.
func TestForeignTrials(t *testing.T) {
	t.Parallel()
	onEach(t, foreignTrials)
}

func foreignTrials(t *testing.T, at string) {
	_, s := writtenAt(t, at, "trials = 5\n")
	db, err := rdb.Open(s.Storage)
	require.NoError(t, err)
	id, err := db.Open(s.Name, s.Directions())
	require.NoError(t, err)
	other := map[string]float64{"x": 0.3}
	distributions := map[string]study.Distribution{"x": s.Space[0].Distribution}
	require.NoError(t, db.Add(id, -1, &study.FrozenTrial{State: study.Running, Params: other,
		Distributions: distributions},
		&study.FrozenTrial{State: study.Complete, Values: []float64{-7}, Params: other, Distributions: distributions,
			Start: time.Now(), Complete: time.Now()}))
	require.NoError(t, db.Close())
	c := coordinator(s)
	notices, ended := "", 0
	var best *study.FrozenTrial
	c.Notice = func(line string) { notices += line }
	c.Ended = func(_, b *study.FrozenTrial) { ended, best = ended+1, b }
	require.NoError(t, c.Run(t.Context()))
	require.Equal(t, 5, ended)
	require.Equal(t, 2, c.Foreign())
	require.Contains(t, notices, "added by another program")
	require.Equal(t, []float64{-7}, best.Values)
	require.Positive(t, c.Threads())
}

// TestHopeless: a study in which all trials fail ends with an error, and no trial is running.
func TestHopeless(t *testing.T) {
	t.Parallel()
	for i, c := range []struct{ head, how, want string }{
		{"trials = 3", "nan", "all 3 trials have failed, the last as the objective is not a number"},
		{"trials = 40", "nan", "the first 1"}, // 10, or one of those that ended meanwhile
		{"trials = 1\nattempts = 2\nlease = \"200ms\"\nstall = \"100ms\"", "hang", "2 workers died"},
	} {
		_, s := written(t, c.head+"\npruner = \"none\"\n[run]\nhow = \""+c.how+"\"\n")
		err := coordinator(s).Run(t.Context())
		require.ErrorContains(t, err, c.want, i)
		for _, x := range trialsOf(t, s) {
			require.Equal(t, study.Fail, x.State, i)
		}
	}
}

// TestBadStorage: a storage that cannot be used is refused before anything runs.
func TestBadStorage(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o666))
	for i, at := range []string{text, filepath.Join(text, "below.db"), "sqlite:////proc/none/s.db"} {
		_, s := written(t, "")
		s.Storage = at
		err := (&Coordinator{Spec: s}).Open()
		require.ErrorAs(t, err, new(*SpecError), i)
		require.ErrorContains(t, err, `key "storage" got `+at, i)
		require.NoFileExists(t, strings.TrimPrefix(at, "sqlite:///")+".work", i)
	}
}

// certificate makes a certificate for 127.0.0.1, signed by an authority. Without one it is itself an authority.
func certificate(t *testing.T, by *tls.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: by == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	parent, signer := c, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(crand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestCertificates: a server with TLS refuses clients without a certificate of the authority. Workers of the machine
// need none.
func TestCertificates(t *testing.T) {
	t.Parallel()
	authority := certificate(t, nil)
	server, client, stranger := certificate(t, &authority), certificate(t, &authority), certificate(t, nil)
	pool := x509.NewCertPool()
	pool.AddCert(authority.Leaf)
	l := Listen{Address: "127.0.0.1:0", TLS: &tls.Config{Certificates: []tls.Certificate{server}, ClientCAs: pool}}
	dir := t.TempDir()
	e, err := openBus(l, filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer e.close()
	for i, c := range []struct {
		have []tls.Certificate
		ok   bool
	}{{nil, false}, {[]tls.Certificate{stranger}, false}, {[]tls.Certificate{client}, true}} {
		conn, err := nats.Connect("nats://"+e.address(), nats.Secure(&tls.Config{RootCAs: pool, Certificates: c.have}))
		if !c.ok {
			require.Error(t, err, i)
			continue
		}
		require.NoError(t, err, i)
		conn.Close()
	}
	_, err = nats.Connect("nats://"+e.address(),
		nats.Secure(&tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{client}}))
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError), "the server is checked, too")
	conn, err := nats.Connect("nats://here", nats.SetCustomDialer(socketDialer(filepath.Join(dir, "socket"))))
	require.NoError(t, err)
	conn.Close()
}
