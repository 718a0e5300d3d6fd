package display

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// DownloadBar shows the progress of a download: a bar on a terminal, else a line for each tenth.
type DownloadBar struct {
	out    io.Writer
	screen *screen // nil means plain lines

	mu     sync.Mutex
	drawn  time.Time
	tenths int64
}

// NewDownloadBar returns a bar on out. It shows nothing before the first call of Download.
func NewDownloadBar(out io.Writer, env func(string) string) *DownloadBar {
	d := &DownloadBar{out: out, tenths: -1}
	if fd, ok := Terminal(out, env); ok {
		d.screen = newScreen(out, fd, StyleOf(env))
	}
	return d
}

// Download shows that done of total bytes have arrived.
func (d *DownloadBar) Download(done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if total <= 0 {
		return
	}
	if d.screen == nil {
		d.tenths = downloadTenth(d.out, d.tenths, done, total)
		return
	}
	if done < total && time.Since(d.drawn) < redrawEvery {
		return
	}
	d.drawn = time.Now()
	d.screen.draw(func(width int) ([]string, []ranked) {
		return nil, []ranked{{downloadLine(done, total, width, d.screen.style), rankNow}}
	})
}

// Notice shows a line of text when something slow begins.
func (d *DownloadBar) Notice(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.screen != nil {
		d.screen.drawn = 0 // the lines on the screen stay above
	}
	fmt.Fprintln(d.out, text)
}

// downloadLine shows a bar if the total is known and the line is wide enough.
func downloadLine(done, total int64, width int, style Style) line {
	if total <= 0 {
		return line{{Bytes(done), plain}}
	}
	part := float64(done) / float64(total)
	text := fmt.Sprintf("%3.0f %%  %s of %s", 100*part, Bytes(done), Bytes(total))
	bar := min(40, width-1-len(text))
	if bar < leastCurve {
		return line{{text, plain}}
	}
	return line{{Bar(part, bar, style), cyan}, {" " + text, plain}}
}
