package run

import (
	"errors"
	"fmt"
	"strconv"

	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// OutOfMemory adds advice to the error of a device without enough memory: the largest value of Job.Size that fits, if
// the device says what it has and the program what it needs. The memory of a program grows in proportion to that
// setting. It returns other errors as they are.
func OutOfMemory(err error, e Experiment, job *Job) error {
	full, ok := errors.AsType[*xlabridge.OutOfMemoryError](err)
	if !ok {
		return err
	}
	name := job.Size
	f, ok := settings.Lookup(e, name)
	if !ok {
		return fmt.Errorf("%w; make the run smaller%s", err, endOthers(full))
	}
	size, convErr := strconv.ParseInt(f.Text(), 10, 64)
	if convErr != nil || full.Have <= 0 || full.Need <= full.Have {
		return fmt.Errorf("%w; make --%s smaller%s", err, name, endOthers(full))
	}
	most := int64(float64(size) * float64(full.Have) / float64(full.Need))
	if most < 1 {
		return fmt.Errorf("%w; no --%s fits: make the network smaller", err, name)
	}
	return fmt.Errorf("%w; the largest --%s that fits is about %d", err, name, most)
}

// endOthers is advice for a GPU, whose memory other programs may use.
func endOthers(full *xlabridge.OutOfMemoryError) string {
	if full.Backend == "cuda" || full.Backend == "rocm" {
		return ", or end other programs on the device"
	}
	return ""
}
