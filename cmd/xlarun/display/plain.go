package display

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// log is what all runs without a live screen share: a line an event.
type log struct {
	out            io.Writer
	command, setup string
	start          time.Time
	print          func() // writes the last news; called with the mutex held

	mu      sync.Mutex
	began   bool
	tenths  int64     // of a download
	latest  int       // number of the last news
	printed int       // and of the last that was printed
	at      time.Time // when that was
}

// begin writes the head. It and all below need the mutex, but for the methods that start with a capital.
func (l *log) begin() {
	if !l.began {
		fmt.Fprintf(l.out, "xlarun %s: %s\n", l.command, l.setup)
		l.began, l.tenths = true, -1
	}
}

// Phase writes what the run is busy with, until there is news.
func (l *log) Phase(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	if l.latest == 0 {
		fmt.Fprintln(l.out, text)
	}
}

// Download writes a line for each tenth.
func (l *log) Download(done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	l.tenths = downloadTenth(l.out, l.tenths, done, total)
}

// downloadTenth writes how much is there where another tenth is, and returns the tenths that were written.
func downloadTenth(out io.Writer, written, done, total int64) int64 {
	if total <= 0 {
		return written
	}
	tenths := 10 * done / total
	if tenths > written {
		fmt.Fprintf(out, "downloaded %s of %s\n", Bytes(done), Bytes(total))
		return tenths
	}
	return written
}

// news takes the number of the news in, and prints them where due.
func (l *log) news(number int, due bool) {
	l.latest = number
	if due {
		l.now()
	}
}

func (l *log) now() {
	l.printed, l.at = l.latest, time.Now()
	l.print()
}

// Close writes the last news and the summary.
func (l *log) Close(summary ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latest > l.printed {
		l.now()
	}
	for _, s := range summary {
		fmt.Fprintln(l.out, s)
	}
}
