package run

import (
	"errors"
	"fmt"
	"strconv"

	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// sizeNames are the settings that the memory of a run grows with. An experiment has one of them.
var sizeNames = []string{"pop", "envs", "game-batch-size"}

// OutOfMemory adds to the error of a device without enough memory about how large the run may be. The memory of a
// program grows in proportion to its members. It returns other errors as they are.
func OutOfMemory(err error, e Experiment) error {
	full, ok := errors.AsType[*xlabridge.OutOfMemoryError](err)
	if !ok || full.Need <= full.Have || full.Have <= 0 {
		return err
	}
	for _, name := range sizeNames {
		f, ok := settings.Lookup(e, name)
		if !ok {
			continue
		}
		size, convErr := strconv.ParseInt(f.Text(), 10, 64)
		if convErr != nil {
			return err
		}
		most := int64(float64(size) * float64(full.Have) / float64(full.Need))
		if most < 1 {
			return fmt.Errorf("%w; no --%s fits: make the network smaller", err, name)
		}
		return fmt.Errorf("%w; the largest --%s that fits is about %d", err, name, most)
	}
	return err
}
