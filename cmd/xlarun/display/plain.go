package display

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// log shows a run as plain lines, one for each event.
type log struct {
	out   io.Writer
	board Board
	now   func() time.Time

	mu     sync.Mutex
	began  bool
	tenths int64 // of a download that are written
	last   RoundReport
	values values
	// printed and at are the step and the time of the last news that was printed.
	printed int64
	at      time.Time
	spoke   time.Time // the time of the last line
}

func newLog(out io.Writer, b Board, now func() time.Time) *log {
	return &log{out: out, board: b, now: now, values: values{unit: b.Unit}}
}

// line writes a line, and the head before the first one. Unexported methods need the mutex.
func (l *log) line(format string, args ...any) {
	l.begin()
	l.spoke = l.now()
	fmt.Fprintln(l.out, clean(fmt.Sprintf(format, args...), Style{Unicode: true}))
}

func (l *log) begin() {
	if !l.began {
		l.began, l.tenths = true, -1
		l.line("xlarun %s: %s", l.board.Command, l.board.Setup)
	}
}

// Phase writes what the run does.
func (l *log) Phase(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line("%s", text)
}

// progressEvery is the time without a line after which a line says how far a round is.
const progressEvery = 30 * time.Second

// Progress writes a line after half a minute without one, for rounds of many hours after a hundredth of the round.
func (l *log) Progress(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Sub(l.spoke) >= max(progressEvery, (p.Taken+p.Left)/100) {
		l.line("%s", p.text())
	}
}

// Download writes a line for each tenth.
func (l *log) Download(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	l.tenths = downloadTenth(l.out, l.tenths, done, total)
}

// Notice writes the line.
func (l *log) Notice(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line("%s", text)
}

// Moved writes the new path of the run's folder.
func (l *log) Moved(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.Folder = folder
	l.line("run folder: %s", folder)
}

// Report writes a line for each of steps 1 to 10. Then it writes one for every 10th step, from step 100 for every
// 100th and from step 1000 for every 1000th, the last at most once a second. It also writes a line after ten seconds
// without one, and when a metric appears, such as the one of a test.
func (l *log) Report(n RoundReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.last
	l.last = n
	if before.Metrics.Step == 0 {
		l.program()
	}
	appeared := l.values.add(n.Metrics, before.Metrics, l.board.Rows)
	every := int64(1)
	for 10*every < n.Metrics.Step && every < 1000 {
		every *= 10
	}
	passed := n.Metrics.Step/every > before.Metrics.Step/every
	waited := l.now().Sub(l.at)
	if appeared || passed && (every < 1000 || waited > time.Second) || waited > 10*time.Second {
		l.print()
	}
}

// program writes how the program was compiled, and for which devices.
func (l *log) program() {
	n := l.last
	on := n.Devices
	if n.Plan != "" {
		on += ", " + n.Plan
	}
	l.line("program: cache %s, %s, %s; %s", n.Cache, seconds("trace", n.Trace), seconds("compile", n.Compile), on)
	if l.board.Folder != "" {
		l.line("run folder: %s", l.board.Folder)
	}
}

// print writes the last news.
func (l *log) print() {
	n := l.last
	l.printed, l.at = n.Metrics.Step, l.now()
	var rows []string
	for _, r := range l.board.Rows {
		if pieces := l.values.pieces(r); r.Plain && len(pieces) > 0 {
			rows = append(rows, r.Label+" "+strings.Join(pieces, ""))
		}
	}
	if n.StepsPerSecond > 0 {
		rows = append(rows, rate(n.StepsPerSecond)+" steps/s")
	}
	l.line("%s %d: %s", l.board.Unit, n.Metrics.Step, strings.Join(append(rows, Clock(l.now().Sub(l.board.Start))),
		", "))
}

// Close writes the last news and the summary.
func (l *log) Close(summary ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.Metrics.Step > l.printed {
		l.print()
	}
	for _, s := range summary {
		fmt.Fprintln(l.out, clean(s, Style{Unicode: true}))
	}
}

// downloadTenth writes a line if another tenth has arrived, and returns the number of tenths that are written.
func downloadTenth(out io.Writer, written, done, total int64) int64 {
	if total <= 0 {
		return written
	}
	tenths := int64(10 * (float64(done) / float64(total)))
	if tenths > written {
		fmt.Fprintf(out, "downloaded %s of %s\n", Bytes(done), Bytes(total))
		return tenths
	}
	return written
}
