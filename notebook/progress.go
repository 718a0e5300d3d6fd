package notebook

import (
	"fmt"
	"sync"
	"time"
)

// Progress is a bar with the time left, for work of a known length.
type Progress struct {
	*Live
	mu          sync.Mutex
	unit        string
	done, total int
	start       time.Time
	now         func() time.Time
}

// NewProgress returns a bar for a number of units of work, such as "generation".
func NewProgress(unit string, total int) *Progress {
	p := &Progress{unit: unit, total: total, start: time.Now(), now: time.Now}
	p.Live = NewLive(p.picture)
	return p
}

// Set says how many units are done.
func (p *Progress) Set(done int) {
	p.mu.Lock()
	p.done = done
	p.mu.Unlock()
	p.Update()
}

func (p *Progress) picture() (fragment, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.now().Sub(p.start)
	text = fmt.Sprintf("%s %d of %d, %s", p.unit, p.done, p.total, clock(taken))
	share := 0.
	if p.total > 0 {
		share = min(1, max(0, float64(p.done)/float64(p.total)))
	}
	if share > 0 && share < 1 {
		text += fmt.Sprintf(", about %s left", clock(time.Duration(float64(taken)*(1-share)/share)))
	}
	return fmt.Sprintf(`<div style="width:300px;height:8px;border:1px solid;border-radius:4px;overflow:hidden">`+
		`<div style="width:%.1f%%;height:100%%;background:#2f80d0"></div></div>%s`, 100*share, escape(text)), text
}

// clock writes a duration as m:ss, or h:mm:ss.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
