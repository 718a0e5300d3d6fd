package parallelbench

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// markVariable is the environment variable by which the processes of one side are known: they inherit it, also those that leave their parent, as
// Ray's do.
const markVariable = "XLARUN_BENCH_MARK"

// Process is what one process was seen to take.
type Process struct {
	Name      string  `json:"name"`
	Processor float64 `json:"processor_seconds"`
	Threads   int     `json:"threads"` // the most
	RSS       int64   `json:"rss_bytes"`
	PSS       int64   `json:"pss_bytes"` // its own memory, and its share of what it has in common with others
	pid       int
}

// Watch looks at processes while they run.
type Watch struct {
	mark string
	stop chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex
	seen    map[int]*Process
	stopped time.Duration
	shares  int // looks at shared memory so far, which cost more
}

// glance is how often a Watch looks at the processes, tick how often at the clock: where the clock went on and it did not, everything was stopped.
const (
	glance = 100 * time.Millisecond
	tick   = 20 * time.Millisecond
	asleep = 300 * time.Millisecond
)

// NewWatch begins to watch; Environ is for the processes that are watched.
func NewWatch() *Watch {
	w := &Watch{mark: fmt.Sprintf("%s=%d-%d", markVariable, os.Getpid(), time.Now().UnixNano()), stop: make(chan struct{}), seen: map[int]*Process{}}
	w.done.Go(func() { w.every(glance, func(time.Duration) { w.look() }) })
	w.done.Go(func() {
		w.every(tick, func(gap time.Duration) {
			if gap > asleep {
				w.mu.Lock()
				w.stopped += gap
				w.mu.Unlock()
			}
		})
	})
	return w
}

func (w *Watch) every(d time.Duration, do func(gap time.Duration)) {
	t := time.NewTicker(d)
	defer t.Stop()
	last := time.Now()
	for {
		select {
		case <-w.stop:
			return
		case <-t.C:
			now := time.Now()
			do(now.Sub(last))
			last = now
		}
	}
}

// Environ is an environment with the mark.
func (w *Watch) Environ(base []string) []string { return append(slices.Clone(base), w.mark) }

// End stops watching: what was seen, those first that computed most, and for how long everything here was stopped by others.
func (w *Watch) End() (all []Process, stopped time.Duration) {
	close(w.stop)
	w.done.Wait()
	for _, p := range w.seen {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Process) int {
		return cmp.Or(cmp.Compare(b.Processor, a.Processor), cmp.Compare(a.pid, b.pid))
	})
	return all, w.stopped
}

func (w *Watch) look() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	w.shares++
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(w.mark)) {
			continue
		}
		p := w.seen[pid]
		if p == nil {
			p = &Process{pid: pid}
			w.seen[pid] = p
		}
		p.take("/proc/"+e.Name(), w.shares%5 == 1)
	}
}

// clockTicks are what Linux counts processor time in, on all of its architectures that this runs on.
const clockTicks = 100

// take reads what the process takes now; what is gone is left as it was.
func (p *Process) take(dir string, share bool) {
	text, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return
	}
	name, rest, ok := cutStat(string(text))
	if !ok {
		return
	}
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(fields[i], 10, 64); return n }
	p.Name = name
	p.Processor = max(p.Processor, float64(number(11)+number(12))/clockTicks)
	p.Threads = max(p.Threads, int(number(17)))
	p.RSS = max(p.RSS, number(21)*int64(os.Getpagesize()))
	if share {
		p.PSS = max(p.PSS, kilobytes(dir+"/smaps_rollup", "Pss:"))
	}
}

// cutStat cuts the name, which may hold anything, from the fields behind it.
func cutStat(text string) (name, rest string, ok bool) {
	open, shut := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return "", "", false
	}
	return text[open+1 : shut], text[shut+1:], true
}

// kilobytes is a line of a file of the kernel's, as bytes; 0 where there is none.
func kilobytes(path, key string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == key {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// Busy are the seconds of processor time that the whole machine has spent so far, what its host took from it included; 0 where that is not known.
func Busy() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	sum := int64(0)
	for i, f := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // its name; idle, and waiting for a disk; guests, which count among users
			continue
		}
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += n
	}
	return float64(sum) / clockTicks
}

// Workers are those of the processes that computed at least a tenth of what the busiest did.
func Workers(all []Process) (some []Process) {
	for _, p := range all {
		if p.Processor > 0 && p.Processor >= all[0].Processor/10 {
			some = append(some, p)
		}
	}
	return some
}
