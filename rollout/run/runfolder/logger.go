package runfolder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"
)

// Logger makes text of rows and writes it in a goroutine of its own, in order: the run waits for neither. It keeps the
// text of the logs, which is bounded (see Kept). It writes rows that could not be written together with the next, and
// all rows into a folder that was made again.
type Logger struct {
	folder *Folder
	unit   string

	wake chan struct{} // there is something to do
	soon chan struct{} // somebody waits for it
	done chan struct{} // the goroutine has ended
	made bool          // the folder must be synced, as files were made; only the goroutine uses it

	closed sync.Mutex // held while files are checked after the goroutine has ended

	encoding sync.Mutex // held while queued rows become text

	mu      sync.Mutex // never held during a call of the disk
	queued  []Row      // logged, but not yet in the texts of the logs
	logs    []*logFile // metrics, timings, events
	steps   []int64    // of the rows that are in the logs, without the one that End added
	left    *leftRow   // the newest row, if Kept leaves it out
	wanted  []chan error
	closing bool
	err     error // of the last write
}

// logFile is one log. Its text grows under the logger's mutex; only the goroutine uses the other fields.
type logFile struct {
	name string
	text []byte // the whole content that the file must have

	file            File
	life            int // Folder.life when the file was opened
	written, synced int // bytes of text
}

// leftRow is a row that Kept leaves out.
type leftRow struct {
	Row
	read [][]byte // its lines, of a row that an ended run has left in the logs; nil: they are not made yet
}

// NewLogger opens the folder's logs. unit is the name of Row.Step in the JSON lines. after is the step of the
// checkpoint from which the run is resumed, and work is Row.Work at that step; 0: the run is new. Rows after that step
// are cut off, as is a row that a killed process has left half-written. Missing rows up to that step are an error.
func (f *Folder) NewLogger(unit string, after int64, work float64) (*Logger, error) {
	l := &Logger{folder: f, unit: unit, wake: make(chan struct{}, 1), soon: make(chan struct{}, 1),
		done: make(chan struct{})}
	if err := l.open(after, work); err != nil {
		return nil, fmt.Errorf("the logs in %s cannot be opened: %w", f.Dir(), reason(err))
	}
	f.mu.Lock()
	f.logger = l
	f.mu.Unlock()
	go l.work()
	return l, nil
}

func (l *Logger) open(after int64, work float64) error {
	f := l.folder
	if _, _, err := f.base(); err != nil {
		return err
	}
	metrics, timings := &logFile{name: metricsName}, &logFile{name: timingsName}
	if after > 0 {
		rows, err := f.rowsAt(after)
		if err != nil {
			return err
		}
		var ends [2][]byte // the lines that End added
		if metrics.text, ends[0], l.steps, err = f.readRows(metrics.name, l.unit, after, rows); err != nil {
			return err
		}
		if len(l.steps) < rows {
			f.options.Notice(fmt.Sprintf("%s has %d whole rows up to step %d, the checkpoint was made with %d: the "+
				"run goes on without the others", f.Path(metrics.name), len(l.steps), after, rows))
		}
		// the timings of a resumed run may be missing: nothing depends on them
		if _, err = f.current().Stat(timings.name); errors.Is(err, fs.ErrNotExist) && rows > 0 {
			f.options.Notice(fmt.Sprintf("%s is gone: it begins again", f.Path(timings.name)))
		} else if timings.text, ends[1], _, err = f.readRows(timings.name, l.unit, after, rows); err != nil {
			return err
		}
		if ends[0] != nil {
			l.left = &leftRow{read: ends[:]}
		}
		for _, log := range []*logFile{metrics, timings} {
			log.written, log.synced = len(log.text), len(log.text)
		}
	}
	if f.begun {
		if err := f.removeCheckpointsBeyond(after); err != nil {
			return err
		}
		f.removeOldCheckpoints() // a run may have been killed before it did
	}
	there, err := f.list(".")
	if err != nil {
		return err
	}
	now := time.Now()
	events := &logFile{name: eventsName(there, now), text: eventsHead(now)}
	f.making.Lock()
	events.text = append(events.text, configEvents(f.config, now)...)
	f.making.Unlock()
	if f.begun {
		events.text = append(events.text, eventsRestart(now, f.eventStep(after, work)+1)...)
	}
	f.mu.Lock()
	for _, log := range []*logFile{metrics, timings} {
		delete(f.files, log.name) // the logger can write it again
	}
	f.mu.Unlock()
	l.logs = []*logFile{metrics, timings, events}
	return l.bring(l.texts(), true)
}

// Log queues a row, unless Kept leaves it out. It does not wait for the disk.
func (l *Logger) Log(r Row) {
	if !r.isKept() {
		l.mu.Lock()
		l.left = &leftRow{Row: r}
		l.mu.Unlock()
		return
	}
	l.mu.Lock()
	if !l.closing {
		l.queued = append(l.queued, r)
		l.steps = append(l.steps, r.Step)
	}
	l.left = nil
	l.mu.Unlock()
	l.kick()
}

// End queues the newest row if Kept leaves it out, so that the logs of a run that has ended reach its end. No row is
// logged after it. A run that goes on from there begins without that row: its logs do not depend on where it stopped.
func (l *Logger) End() {
	l.lockEncoded()
	defer l.mu.Unlock()
	if l.left == nil || l.closing {
		return
	}
	lines := l.left.read
	if lines == nil {
		lines = l.lines(l.left.Row)
	}
	l.add(lines)
	l.left = nil
	l.kick()
}

// lockEncoded takes the mutex when all rows that are logged are in the texts. Rows become text without the mutex, so
// that the run can log the next one meanwhile.
func (l *Logger) lockEncoded() {
	l.encoding.Lock()
	defer l.encoding.Unlock()
	l.mu.Lock()
	for len(l.queued) > 0 {
		rows := l.queued
		l.queued = nil
		l.mu.Unlock()
		lines := make([][][]byte, len(rows))
		for i, r := range rows {
			lines[i] = l.lines(r)
		}
		l.mu.Lock()
		for _, row := range lines {
			l.add(row)
		}
	}
}

// lines returns a row as it stands in each of the logs.
func (l *Logger) lines(r Row) [][]byte {
	event := eventRecord(r, l.folder.eventStep(r.Step, r.Work))
	return [][]byte{line(l.unit, r.Step, r.Metrics), line(l.unit, r.Step, r.Timings), event}
}

// add adds a line to each of the first logs. The caller holds the mutex.
func (l *Logger) add(lines [][]byte) {
	for i, text := range lines {
		l.logs[i].text = append(l.logs[i].text, text...)
	}
}

// LastRow returns the line of the newest row, as it stands in metrics.jsonl if it is kept.
func (l *Logger) LastRow() []byte {
	l.lockEncoded()
	defer l.mu.Unlock()
	switch {
	case l.left == nil:
	case l.left.read != nil:
		return bytes.TrimSuffix(l.left.read[0], []byte{'\n'})
	default:
		return bytes.TrimSuffix(line(l.unit, l.left.Step, l.left.Metrics), []byte{'\n'})
	}
	text := bytes.TrimSuffix(l.logs[0].text, []byte{'\n'})
	return bytes.Clone(text[bytes.LastIndexByte(text, '\n')+1:])
}

// Rows returns the lines of the rows that are kept, as they stand in metrics.jsonl.
func (l *Logger) Rows() []byte {
	l.lockEncoded()
	defer l.mu.Unlock()
	return bytes.Clone(l.logs[0].text)
}

// Err returns why the last rows could not be written; nil if they were.
func (l *Logger) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes the queued rows and closes the logs. Rows that are logged later are dropped.
func (l *Logger) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.hurry()
	<-l.done
	return l.Err()
}

// CloseBefore is Close, but gives up when ctx ends: the disk may not answer.
func (l *Logger) CloseBefore(ctx context.Context) error {
	return Before(ctx, l.Close, func() error {
		return fmt.Errorf("the disk of %s does not answer: the last rows of its logs may be missing", l.folder.Dir())
	})
}

// rowsUpTo counts the rows up to a step.
func (l *Logger) rowsUpTo(step int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	rows, found := slices.BinarySearch(l.steps, step)
	if found {
		rows++
	}
	return rows
}

// durable waits until all rows that were logged are on the disk.
func (l *Logger) durable() error {
	l.lockEncoded()
	if l.closing {
		texts := l.texts()
		l.mu.Unlock()
		<-l.done
		// The goroutine has ended. The files are written again here, as the folder may have been made again since.
		l.closed.Lock()
		defer l.closed.Unlock()
		err := l.bring(texts, true)
		return errors.Join(l.failed(err), l.closeFiles())
	}
	done := make(chan error, 1)
	l.wanted = append(l.wanted, done)
	l.mu.Unlock()
	l.hurry()
	return <-done
}

// kick wakes the goroutine, at once or after its present work.
func (l *Logger) kick() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// hurry wakes the goroutine, and does not let it wait for further rows.
func (l *Logger) hurry() {
	select {
	case l.soon <- struct{}{}:
	default:
	}
	l.kick()
}

// gathered is the least time between two writes, unless somebody waits for one. Rows that come faster are written
// together: alone, each would cost a dozen calls of the disk, a twentieth of the time of a short round.
const gathered = 100 * time.Millisecond

func (l *Logger) work() {
	defer close(l.done)
	var last time.Time
	for range l.wake {
		if wait := gathered - time.Since(last); wait > 0 {
			select {
			case <-l.soon:
			case <-time.After(wait):
			}
		}
		last = time.Now()
		l.lockEncoded()
		texts, wanted, closing := l.texts(), l.wanted, l.closing
		l.wanted = nil
		l.mu.Unlock()
		err := l.bring(texts, len(wanted) > 0 || closing)
		err = l.failed(err)
		if closing {
			err = errors.Join(err, l.closeFiles())
		}
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		for _, done := range wanted {
			done <- err
		}
		if closing {
			return
		}
	}
}

// failed makes an error of the disk a sentence.
func (l *Logger) failed(err error) error {
	if err == nil {
		return nil
	}
	return &WriteError{"the run's logs in " + l.folder.Dir(), reason(err)}
}

// texts returns the contents that the logs must have. The caller holds the mutex. The bytes do not change later: texts
// only grow.
func (l *Logger) texts() (texts [][]byte) {
	for _, log := range l.logs {
		texts = append(texts, log.text)
	}
	return texts
}

// bring writes texts into the files and, with sync, syncs them.
func (l *Logger) bring(texts [][]byte, sync bool) error {
	return l.folder.patiently(l.logs[0].name, func() (wanted int64, err error) {
		for i, log := range l.logs {
			wanted += int64(len(texts[i]) - log.synced)
		}
		root, life, err := l.folder.base()
		if err != nil {
			return wanted, err
		}
		for i, log := range l.logs {
			if err := log.bring(root, life, texts[i], sync, &l.made); err != nil {
				log.drop()
				return wanted, err
			}
		}
		if l.made {
			if err := root.SyncDir("."); err != nil {
				return wanted, err
			}
			l.made = false
		}
		return wanted, nil
	})
}

// bring writes text into the file. It sets made if it had to make or open the file.
func (g *logFile) bring(root Root, life int, text []byte, sync bool, made *bool) error {
	there := g.life == life
	if there && g.file != nil {
		var err error
		if there, err = root.Holds(g.name, g.file); err != nil {
			return err
		}
	}
	if !there {
		g.drop()
		g.life, g.written, g.synced = life, 0, 0
	}
	if g.file == nil {
		file, err := root.Create(g.name)
		if err != nil {
			return err
		}
		g.file = file
		*made = true
		info, err := file.Stat()
		if err != nil {
			return err
		}
		if info.Size() < int64(g.synced) {
			g.written, g.synced = 0, 0
		}
		if err := file.Truncate(int64(g.synced)); err != nil {
			return err
		}
	}
	if g.written < len(text) {
		if _, err := g.file.WriteAt(text[g.written:], int64(g.written)); err != nil {
			return err
		}
		g.written = len(text)
	}
	if sync && (g.synced < g.written || *made) {
		if err := g.file.Sync(); err != nil {
			return err
		}
		g.synced = g.written
	}
	return nil
}

// drop closes the file after a failure. Bytes that are not known to be on the disk are written again: after a failed
// sync, the kernel takes them for written although they are not.
func (g *logFile) drop() {
	if g.file != nil {
		_ = g.file.Close()
	}
	g.file, g.written = nil, g.synced
}

func (l *Logger) closeFiles() error {
	var err error
	for _, log := range l.logs {
		if log.file != nil {
			if closeErr := log.file.Close(); closeErr != nil && err == nil {
				err = fmt.Errorf("the run's logs in %s cannot be closed: %w", l.folder.Dir(), reason(closeErr))
			}
			log.file = nil
		}
	}
	return err
}
