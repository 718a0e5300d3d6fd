package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"xlarun/internal/long"
	"xlarun/internal/network"
	"xlarun/studies"
	"xlarun/studies/rdb/rdbtest"
)

// spec is the spec of a history's study, after its storage.
const spec = `
name = "wave"
kind = "wave"
metric = "loss"
direction = "minimize"
workers = 1
attempts = 100000
checkpoint-every = "40ms"
report-every = 2
startup = 8
[[param]]
name = "x"
type = "float"
low = -1.0
high = 1.0
[[param]]
name = "y"
type = "int"
low = 0
high = 9
[run]
steps = 8
`

// variants are settings of the sampler and the pruner.
var variants = []string{
	"sampler = \"random\"\npruner = \"median\"\nwindow = 24\n",
	"sampler = \"tpe\"\npruner = \"none\"\nwindow = 24\n",
	"sampler = \"tpe\"\npruner = \"median\"\nwindow = 24\n",
	"sampler = \"random\"\npruner = \"asha\"\nwindow = 24\n",
}

// size is how long histories are.
type size struct {
	trials, faults int
	lease, within  time.Duration
	wait           string // of a step
}

var (
	shortForm = size{trials: 60, faults: 6, lease: 2 * time.Second, within: 2 * time.Second, wait: "10ms"}
	longForm  = size{trials: 240, faults: 12, lease: 3 * time.Second, within: 9 * time.Second, wait: "20ms"}
)

// text returns the text of a spec.
func (z size) text(storage, variant, wait string) string {
	return fmt.Sprintf("storage = %q\ntrials = %d\nlease = %q\n%s%swait = %q\n", storage, z.trials, z.lease, variant,
		spec,
		wait)
}

// undisturbed holds the results of studies of a size and a variant that one worker ran.
var undisturbed sync.Map

// undisturbedResults runs a study to which nothing happens, once.
func (z size) undisturbedResults(t *testing.T, variant string) []string {
	t.Helper()
	type key struct {
		size
		variant string
	}
	run, _ := undisturbed.LoadOrStore(key{z, variant}, sync.OnceValue(func() []string {
		storage := "sqlite:///" + filepath.Join(t.TempDir(), "s.db")
		s, err := studies.Parse([]byte(z.text(storage, variant, "0s")), nil)
		require.NoError(t, err)
		require.NoError(t, s.Check(waves{}))
		c := &studies.Coordinator{Spec: s, Command: func(int) *exec.Cmd {
			return nodeArgs{Storage: storage, Study: s.Name}.command()
		}}
		require.NoError(t, c.Run(t.Context()))
		return results(t, storage, s)
	}))
	return run.(func() []string)()
}

// Histories of faults. Each trial is told once, none is lost or invented, the values are those of an undisturbed
// run, no two workers have a trial at once, and workers are back within a lease.
func TestHistories(t *testing.T) {
	z, histories, together, first := shortForm, 2, 2, uint64(1)
	if long.All() {
		z, histories, together, first = longForm, 200, 4, uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("XLARUN_FAULTS"); text != "" {
		low, high, several := strings.Cut(text, "-")
		var err error
		first, err = strconv.ParseUint(low, 10, 64)
		require.NoError(t, err)
		last := first
		if several {
			last, err = strconv.ParseUint(high, 10, 64)
			require.NoError(t, err)
		}
		require.LessOrEqual(t, first, last)
		histories = int(last - first + 1)
		together = min(together, histories)
	}
	t.Cleanup(func() { checkEffects(t) })
	for group := range together {
		t.Run(strconv.Itoa(group), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for i := group; i < histories; i += together {
				seed := first + uint64(i)
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { b.history(t, z, seed) })
			}
		})
	}
}

// bench is what histories share that come one after the other.
type bench struct {
	net      network.Network
	postgres *rdbtest.Server // nil: none is installed
	disk     *disk           // of postgres
}

// disk is a small file system that can be filled.
type disk struct {
	path   string
	filler *os.File // nil: the machine gives no file systems, so that the disk is never full
	full   int      // faults that fill it
}

// newDisk makes a disk of a number of MiB.
func newDisk(t *testing.T, path string, size int) *disk {
	t.Helper()
	d := &disk{path: path}
	require.NoError(t, os.Mkdir(path, 0o777))
	require.NoError(t, os.Chmod(path, 0o777)) // PostgreSQL runs as another user
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=777", size)); err == nil {
		t.Cleanup(func() { require.NoError(t, unix.Unmount(path, unix.MNT_DETACH)) })
		d.filler, err = os.Create(filepath.Join(path, "filler"))
		require.NoError(t, err)
	}
	return d
}

// fill fills the disk.
func (d *disk) fill() {
	if d.filler == nil {
		return
	}
	for block := make([]byte, 4096); ; {
		if _, err := d.filler.Write(block); err != nil {
			return
		}
	}
}

// free ends a fault that fills the disk.
func (d *disk) free(t *testing.T) {
	if d.full--; d.full == 0 && d.filler != nil {
		require.NoError(t, d.filler.Truncate(0))
		_, err := d.filler.Seek(0, 0)
		require.NoError(t, err)
	}
}

// Sizes of disks in MiB. A new PostgreSQL server takes 40, and its log of writes up to 64.
const coordinatorDisk, databaseDisk = 24, 192

func newBench(t *testing.T) *bench {
	t.Helper()
	n, why := network.New(nodes)
	if why != nil {
		t.Logf("without network namespaces: %v", why)
	}
	b := &bench{net: n}
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	folder, err := os.MkdirTemp("", "faults") // that of t is for one user
	require.NoError(t, err)
	require.NoError(t, os.Chmod(folder, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	b.disk = newDisk(t, filepath.Join(folder, "disk"), databaseDisk)
	s, err := rdbtest.NewAt(rdbtest.Place{Host: n.Host(database), Folder: b.disk.path,
		Start: func(cmd *exec.Cmd) (<-chan error, error) { return n.Start(database, cmd) }})
	if errors.Is(err, rdbtest.ErrNone) {
		t.Log(err)
		return b
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Remove()) })
	b.postgres = s
	return b
}

// node is a process of a history.
type node struct {
	args      nodeArgs
	dir       string
	logFile   *os.File // what its processes write
	cmd       *exec.Cmd
	over      <-chan error // nil: it does not run
	clock     *clock
	down      int // faults that keep it from running
	others    int // faults that make it one of another version
	suspended int
	elsewhere string // of the coordinator: another address to listen on
	done      bool   // it has ended by itself, and well
}

// history is a study and what happens to it.
type history struct {
	*bench
	t       *testing.T
	z       size
	dir     string
	nodes   []*node
	storage string // as the test reaches it
	links   map[[2]int][]network.Link
	met     map[fault]int // Network.Met of a link when the fault began
	away    []int         // processes of coordinators that have moved
	disk    *disk         // of the coordinator
	began   time.Duration
	record  record
}

// history runs the history of a seed.
func (b *bench) history(t *testing.T, z size, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	variant := variants[random.IntN(len(variants))]
	server := random.IntN(2) == 0 && b.postgres != nil
	faults := draw{random, z.lease, server}.faults(z.faults, z.within)
	h := &history{bench: b, t: t, z: z, dir: t.TempDir(), links: map[[2]int][]network.Link{}, met: map[fault]int{}}
	h.record = record{Trials: z.trials, Lease: z.lease, Undisturbed: z.undisturbedResults(t, variant)}
	if long.On() { // other tests keep the machine busy while the short form runs
		h.record.Return = z.lease
	}
	h.open(server, variant)
	defer h.close()
	h.play(faults)
	if bad := h.record.violations(); len(bad) > 0 || t.Failed() {
		for _, f := range faults {
			t.Log(f)
		}
		for i, n := range h.nodes {
			if n.logFile != nil {
				t.Logf("node %d said: %s", i, text(n.logFile))
			}
		}
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("xlarun-faults-%d.json", seed))
		data, err := json.Marshal(h.record)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(kept, data, 0o666))
		require.Empty(t, bad, "%s, server %v, XLARUN_FAULTS=%d", variant, server, seed)
	}
}

// text returns what is in a file.
func text(f *os.File) string {
	b, _ := os.ReadFile(f.Name())
	return string(b)
}

// open makes the database, the disk and the nodes.
func (h *history) open(server bool, variant string) {
	t := h.t
	h.disk = newDisk(t, filepath.Join(h.dir, "disk"), coordinatorDisk)
	at := "sqlite:///" + filepath.Join(h.disk.path, "s.db")
	h.storage = at
	if server {
		direct := h.postgres.Database(t)
		t.Cleanup(func() { h.postgres.Drop(t, direct) })
		h.storage = h.postgres.Near(direct)
		far, err := h.net.Address(coordinator, database, h.postgres.Port())
		require.NoError(t, err)
		at = strings.Replace(direct, net.JoinHostPort(h.net.Host(database), strconv.Itoa(h.postgres.Port())), far, 1)
	}
	audited(t, h.storage)
	ports, err := freePorts(2)
	require.NoError(t, err)
	h.nodes = make([]*node, nodes)
	for i := range h.nodes {
		n := &node{dir: h.dir}
		h.nodes[i] = n
		if i == database {
			continue
		}
		n.logFile, err = os.Create(filepath.Join(h.dir, fmt.Sprintf("node-%d.log", i)))
		require.NoError(t, err)
		n.clock, err = newClock(filepath.Join(h.dir, fmt.Sprintf("clock-%d", i)))
		require.NoError(t, err)
		n.args.Clock = n.clock.path
		if i == coordinator {
			n.dir = h.disk.path
			n.args.Spec, n.args.Log = h.z.text(at, variant, h.z.wait), filepath.Join(h.dir, "events")
			n.args.Listen = net.JoinHostPort(h.net.Host(coordinator), strconv.Itoa(ports[0]))
			n.elsewhere = net.JoinHostPort(h.net.Host(coordinator), strconv.Itoa(ports[1]))
			continue
		}
		var to []string
		for _, port := range ports {
			at, err := h.net.Address(i, coordinator, port)
			require.NoError(t, err)
			to = append(to, "nats://"+at)
		}
		n.args.Join = strings.Join(to, ",")
	}
}

// freePorts returns ports on which nobody listens.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// close ends what still runs.
func (h *history) close() {
	for _, n := range h.nodes {
		if n.over != nil {
			_ = n.cmd.Process.Kill()
			<-n.over
		}
	}
	for i := range nodes {
		for j := range i {
			h.net.Set(i, j, network.Link{})
		}
	}
}

// start starts the process of a node, if nothing keeps it from running.
func (h *history) start(i int) {
	n := h.nodes[i]
	if i == database || n.down > 0 || n.over != nil || n.done {
		return
	}
	n.cmd = n.args.command()
	n.cmd.Dir = n.dir
	n.cmd.Stdout, n.cmd.Stderr = n.logFile, n.logFile
	var err error
	n.over, err = h.net.Start(i, n.cmd)
	require.NoError(h.t, err)
	if i == coordinator {
		h.record.Started = append(h.record.Started, monotonic())
	}
	if n.args.Version != "" {
		h.record.Strangers = append(h.record.Strangers, fmt.Sprintf(":%d:", n.cmd.Process.Pid))
	}
}

// kill kills the process of a node. It reports whether that ended it.
func (h *history) kill(i int) bool {
	n := h.nodes[i]
	if n.over == nil {
		return false
	}
	_ = n.cmd.Process.Kill()
	<-n.over
	n.over, n.suspended = nil, 0
	status, ok := n.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signal() == syscall.SIGKILL
}

// play starts the nodes, lets faults happen, heals the links, waits for the study's end and reads what happened.
func (h *history) play(faults []fault) {
	for i := range h.nodes {
		h.start(i)
	}
	h.began = monotonic()
	h.happen(faults)
	h.heal()
	h.wait()
	h.read()
}

// happen lets faults happen.
func (h *history) happen(faults []fault) {
	type turn struct {
		at  time.Duration
		end bool
		fault
	}
	var turns []turn
	for _, f := range faults {
		turns = append(turns, turn{f.At, false, f}, turn{f.At + f.For, true, f})
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return int(a.at - b.at) })
	for _, x := range turns {
		for left := x.at; left > 0; left = x.at - (monotonic() - h.began) {
			h.supervise()
			time.Sleep(min(left, 20*time.Millisecond))
		}
		n := h.nodes[x.Node]
		if !x.end {
			x.Kind.faults.Add(1)
			x.Kind.begin(h, n, x.fault)
			continue
		}
		if x.Kind.end(h, n, x.fault); x.Node == database {
			h.superviseDatabase()
		}
	}
}

// setLink makes a link what its faults make of it together.
func (h *history) setLink(a, b int) {
	var all network.Link
	for _, l := range h.links[[2]int{a, b}] {
		all = network.Link{Delay: max(all.Delay, l.Delay), Loss: max(all.Loss, l.Loss), Rate: max(all.Rate, l.Rate),
			Cut: all.Cut || l.Cut}
	}
	h.net.Set(a, b, all)
}

// diskOf returns the disk of the coordinator or of the database.
func (h *history) diskOf(node int) *disk {
	if node == database {
		return h.bench.disk
	}
	return h.disk
}

// superviseDatabase starts the database's server if it does not run, and nothing keeps it from running.
func (h *history) superviseDatabase() {
	if h.nodes[database].down == 0 && h.bench.disk.full == 0 && h.postgres.Ended() {
		require.NoError(h.t, h.postgres.Up())
	}
}

// supervise starts again what has ended by itself, as a service manager does.
func (h *history) supervise() {
	for i, n := range h.nodes {
		if n.over == nil {
			continue
		}
		select {
		case err := <-n.over:
			n.over, n.suspended = nil, 0
			if err == nil {
				n.done = true
				continue
			}
			fmt.Fprintf(n.logFile, "-- it has ended: %v\n", err)
			time.Sleep(50 * time.Millisecond)
			h.start(i)
		default:
		}
	}
	for _, d := range []*disk{h.disk, h.bench.disk} {
		if d != nil && d.full > 0 {
			d.fill() // what was freed meanwhile
		}
	}
}

// heal notes that all is well again.
func (h *history) heal() {
	h.supervise()
	h.record.Healed = monotonic()
	for _, n := range h.nodes[firstWorker:] {
		if n.over != nil {
			h.record.Workers = append(h.record.Workers, fmt.Sprintf(":%d:", n.cmd.Process.Pid))
		}
	}
}

// stall is how long nothing may happen in a study. How long a study takes depends on what else the machine does.
const stall = time.Minute

// wait waits until the coordinator has ended well.
func (h *history) wait() {
	began, size, grown := time.Now(), int64(0), time.Now()
	c := h.nodes[coordinator]
	for !c.done {
		h.supervise()
		time.Sleep(20 * time.Millisecond)
		if events, err := os.Stat(c.args.Log); err == nil && events.Size() > size {
			size, grown = events.Size(), time.Now()
		}
		if time.Since(grown) > stall {
			_ = c.cmd.Process.Signal(syscall.SIGQUIT)
			<-c.over
			c.over = nil
			require.Fail(h.t, "the study hangs", "%s", text(c.logFile))
		}
	}
	h.t.Logf("%v of faults, %v to the end", h.record.Healed-h.began, time.Since(began))
}

// read reads what the database and the coordinators have recorded.
func (h *history) read() {
	t := h.t
	log, err := os.ReadFile(h.nodes[coordinator].args.Log)
	require.NoError(t, err)
	for line := range strings.Lines(string(log)) {
		var e event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		h.record.Events = append(h.record.Events, e)
	}
	for _, pid := range h.away {
		if slices.ContainsFunc(h.record.Events, func(e event) bool { return e.Coordinator == pid }) {
			moved.seen.Add(1)
		}
	}
	for _, n := range h.nodes {
		if n.logFile != nil {
			readEffects(text(n.logFile))
		}
	}
	h.record.Changes = changes(t, h.storage)
	s, err := studies.Parse([]byte(regexp.MustCompile(`storage = "[^"]*"`).ReplaceAllLiteralString(
		h.nodes[coordinator].args.Spec, "storage = \""+h.storage+"\"")), nil)
	require.NoError(t, err)
	h.record.Results = results(t, h.storage, s)
}
