package runfolder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"xlarun/graph"
	"xlarun/graph/safetensors"
)

const (
	checkpointFormat = "xlarun checkpoint"
	// checkpointVersion is the version of the metadata. Checkpoint.Format is the version of the arrays.
	checkpointVersion = 2
	checkpointSuffix  = ".safetensors"
)

// Checkpoint is the whole state of a run after a step. A resumed run and a run that was never stopped write the same
// bytes, so nothing in it may depend on the time or the machine.
type Checkpoint struct {
	Step int64
	// Kind is the kind of run, and Format the version of its arrays and Info.
	Kind   string
	Format int
	// Config is the resolved config, as in config.toml.
	Config string
	// Info has counters and versions.
	Info map[string]string
	// Arrays is the state, by name: parameters, optimizer state, keys.
	Arrays map[string]*graph.Array
}

// Keys of a checkpoint's metadata that are not Info.
const (
	keyFormat     = "format"
	keyVersion    = "version"
	keyKind       = "kind"
	keyKindFormat = "kind_format"
	keyStep       = "step"
	keyConfig     = "config"
	keyRows       = "rows"
	keyChecksum   = "checksum"
)

func checkpointName(step int64) string {
	return path.Join(checkpointDir, fmt.Sprintf("%06d%s", step, checkpointSuffix))
}

// checkpointStep returns the step in a checkpoint's name.
func checkpointStep(name string) (step int64, ok bool) {
	digits, ok := strings.CutSuffix(path.Base(name), checkpointSuffix)
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, ok && err == nil && step >= 0 && checkpointName(step) == name
}

// SaveCheckpoint writes checkpoints/NNNNNN.safetensors, and then removes all but the newest Options.Keep checkpoints.
// All rows up to its step must have been logged; they are written to the disk first. The file's metadata holds format
// ("xlarun checkpoint"), version, kind, kind_format, step, config, rows (of the logs, up to the step), checksum and
// c.Info.
func (f *Folder) SaveCheckpoint(c Checkpoint) (path string, err error) {
	name := checkpointName(c.Step)
	if err := f.saveCheckpoint(name, c); err != nil {
		return "", fmt.Errorf("the checkpoint of step %d: %w", c.Step, err)
	}
	f.removeOldCheckpoints()
	f.options.Saved()
	return f.Path(name), nil
}

func (f *Folder) saveCheckpoint(name string, c Checkpoint) error {
	if c.Step < 0 {
		return errors.New("a step is 0 or more")
	}
	f.mu.Lock()
	logger := f.logger
	f.mu.Unlock()
	rows := 0
	var first func() error
	if logger != nil {
		rows = logger.rowsUpTo(c.Step)
		first = logger.durable
	}
	metadata := map[string]string{
		keyFormat: checkpointFormat, keyVersion: strconv.Itoa(checkpointVersion),
		keyKind: c.Kind, keyKindFormat: strconv.Itoa(c.Format), keyStep: strconv.FormatInt(c.Step, 10),
		keyConfig: c.Config, keyRows: strconv.Itoa(rows), keyChecksum: noChecksum,
	}
	for key, value := range c.Info {
		if _, ok := metadata[key]; ok {
			return fmt.Errorf("its Info has the key %q, which the checkpoint has itself: rename it", key)
		}
		metadata[key] = value
	}
	return f.put(name, first, func(s *sink) error {
		w := &sealer{to: s}
		if err := safetensors.Write(w, c.Arrays, metadata); err != nil {
			return err
		}
		return w.seal()
	})
}

// removeOldCheckpoints removes all but the newest. If one cannot be removed, the next call tries again.
func (f *Folder) removeOldCheckpoints() {
	f.writing.Lock()
	defer f.writing.Unlock()
	steps, err := f.checkpointSteps()
	if err != nil || len(steps) < f.options.Keep {
		return
	}
	f.forgetOldCheckpoints(steps[f.options.Keep-1])
	for _, step := range steps[f.options.Keep:] {
		_ = f.removeCheckpoint(step)
	}
}

// forgetOldCheckpoints removes from f.lost the checkpoints that would have been removed anyway.
func (f *Folder) forgetOldCheckpoints(oldest int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.lost {
		if step, ok := checkpointStep(name); ok && step < oldest {
			delete(f.lost, name)
		}
	}
}

func (f *Folder) removeCheckpoint(step int64) error {
	name := checkpointName(step)
	if err := f.current().Remove(name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files, name)
	return nil
}

// checkpointSteps returns the steps with a checkpoint, whole or not, the newest first.
func (f *Folder) checkpointSteps() (steps []int64, err error) {
	entries, err := f.list(checkpointDir)
	for _, e := range entries {
		if step, ok := checkpointStep(path.Join(checkpointDir, e.Name())); ok {
			steps = append(steps, step)
		}
	}
	slices.SortFunc(steps, func(a, b int64) int { return cmp.Compare(b, a) })
	return steps, err
}

// ErrNoCheckpoint is the error of Newest for a run that was stopped before its first checkpoint.
var ErrNoCheckpoint = errors.New("the run has no checkpoint yet")

// Newest reads the newest checkpoint that is whole. skipped has a sentence for each newer one that says why it is not.
// The error is ErrNoCheckpoint if there is no file at all.
func (f *Folder) Newest() (c Checkpoint, skipped []string, err error) {
	const tries = 10 // a run that is under way may remove the files that were just listed
	var newest error // why the newest one cannot be used
	for range tries {
		steps, err := f.checkpointSteps()
		if err != nil {
			return c, nil, fmt.Errorf("%s cannot be read: %w", f.Path(checkpointDir), reason(err))
		}
		if len(steps) == 0 {
			return c, nil, ErrNoCheckpoint
		}
		skipped, newest = nil, nil
		for _, step := range steps {
			c, err := f.readCheckpoint(step)
			if err == nil {
				return c, skipped, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				newest = cmp.Or(newest, fmt.Errorf("%s: %w", checkpointName(step), reason(err)))
				skipped = append(skipped, fmt.Sprintf("%s cannot be used and was left out: %v",
					f.Path(checkpointName(step)), reason(err)))
			}
		}
		if len(skipped) == len(steps) {
			break
		}
	}
	if newest == nil {
		return c, nil, fmt.Errorf("the checkpoints in %s change while they are read", f.Path(checkpointDir))
	}
	return c, skipped, fmt.Errorf("none of the checkpoints in %s can be used (%w)", f.Path(checkpointDir), newest)
}

// readCheckpoint reads a checkpoint and checks its checksum.
func (f *Folder) readCheckpoint(step int64) (c Checkpoint, err error) {
	err = f.openArrays(checkpointName(step), func(in *safetensors.File, file io.ReaderAt, size int64) error {
		if c, _, err = checkpointHead(in); err != nil {
			return err
		}
		if c.Step != step {
			return fmt.Errorf("it is the checkpoint of step %d", c.Step)
		}
		if err := checkSeal(file, size, in.Metadata()[keyChecksum]); err != nil {
			return err
		}
		c.Arrays, err = allArrays(in)
		return err
	})
	return c, err
}

// checkpointHead returns a checkpoint without its arrays, and the number of rows that the logs had at its step.
func checkpointHead(in *safetensors.File) (c Checkpoint, rows int, err error) {
	m := in.Metadata()
	number := func(key string) int64 {
		n, bad := strconv.ParseInt(m[key], 10, 64)
		if bad != nil && err == nil {
			err = fmt.Errorf("its %s is %q, want a number", key, m[key])
		}
		return n
	}
	if m[keyFormat] != checkpointFormat {
		return c, 0, fmt.Errorf("its format is %q, want %q", m[keyFormat], checkpointFormat)
	}
	if v := number(keyVersion); err == nil && v != checkpointVersion {
		return c, 0, fmt.Errorf("it is of version %d, this program reads version %d", v, checkpointVersion)
	}
	c = Checkpoint{Step: number(keyStep), Kind: m[keyKind], Format: int(number(keyKindFormat)), Config: m[keyConfig],
		Info: maps.Clone(m)}
	rows = int(number(keyRows))
	for _, key := range []string{keyFormat, keyVersion, keyKind, keyKindFormat, keyStep, keyConfig, keyRows,
		keyChecksum} {
		delete(c.Info, key)
	}
	return c, rows, err
}

// rowsAt returns the number of rows that the logs had when the checkpoint of a step was written.
func (f *Folder) rowsAt(step int64) (rows int, err error) {
	err = f.openArrays(checkpointName(step), func(in *safetensors.File, _ io.ReaderAt, _ int64) error {
		_, rows, err = checkpointHead(in)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no checkpoint of step %d to go on from", step)
	}
	return rows, err
}

// removeCheckpointsBeyond removes checkpoints of later steps, which were damaged when the run was resumed from step.
// The logs are about to be cut after step, and no checkpoint may be ahead of them.
func (f *Folder) removeCheckpointsBeyond(step int64) error {
	steps, err := f.checkpointSteps()
	if err != nil {
		return err
	}
	removed := false
	for _, s := range steps {
		if s > step {
			if err := f.removeCheckpoint(s); err != nil {
				return err
			}
			removed = true
		}
	}
	if removed {
		return f.current().SyncDir(checkpointDir)
	}
	return nil
}
