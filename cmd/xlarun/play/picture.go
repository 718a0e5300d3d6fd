// Package play reads the members that runs have saved, plays them on new episodes, draws episodes, and exports
// members for other programs. Networks of selfplay runs play against a person in the terminal or a random player.
package play

import (
	"fmt"
	"image"
	"math"
	"runtime"
	"strconv"
	"time"

	"xlarun/cmd/xlarun/display"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/xlabridge"
)

const (
	frameDelay = 30 * time.Millisecond
	lastDelay  = time.Second // of the last frame; it shows the end before the GIF repeats
)

// size is the size of a picture with its caption.
var size = image.Pt(320, 200)

// Record plays episode 0 of a seed.
func Record(b xlabridge.Backend, r *episode.Rollout, params any, seed int64) (*episode.Recording, error) {
	return episode.Record(b, r, params, random.FoldIn(run.EpisodesKey(seed), 0))
}

// seedText is the caption of the episode of a seed.
func seedText(seed int64) string { return fmt.Sprintf("seed %d", seed) }

// Draw returns the GIF of a recording, or nil if the environment cannot be drawn. The caption of a frame has the step,
// the return so far and which episode it is, such as "seed 3" or "median of 100". The GIF has at most `frames` frames,
// the first and the last among them; 0 means one for each step. It ends before the first state that is not finite.
func Draw(env envs.Environment, rec *episode.Recording, which string, frames int) ([]byte, error) {
	if envs.TraitsOf(env).Draw == nil {
		return nil, nil
	}
	return film{size: size, frames: frames}.draw(env, rec, which, true)
}

// film holds the options of drawing a recording.
type film struct {
	size   image.Point                             // of a frame with its caption
	frames int                                     // largest number of frames; 0 means one for each step
	each   func(step int, frame *image.RGBA) error // if not nil, is called with each frame
}

// draw draws a recording. It returns the GIF if asGIF.
func (f film) draw(env envs.Environment, rec *episode.Recording, which string, asGIF bool) ([]byte, error) {
	draw, last := envs.TraitsOf(env).Draw, drawable(rec)
	if draw == nil || last < 0 {
		return nil, fmt.Errorf("the first state of %s is not finite: there is nothing to draw", env.Spec().ID)
	}
	text := newCaptions(rec, which, f.size.X)
	steps := shown(last, f.frames)
	frames := ahead(len(steps), func(i int) (*image.RGBA, error) {
		img, err := draw(rec.State(steps[i]), image.Pt(f.size.X, f.size.Y-text.height()))
		if err != nil {
			return nil, err
		}
		return text.above(img, steps[i]), nil
	})
	var gif runfolder.Animation
	for i, step := range steps {
		frame, err := frames(i)
		if err != nil {
			return nil, err
		}
		if f.each != nil {
			if err := f.each(step, frame); err != nil {
				return nil, err
			}
		}
		if !asGIF {
			continue
		}
		delay := frameDelay
		if step == last {
			delay = lastDelay
		}
		if err := gif.Add(frame, delay); err != nil {
			return nil, err
		}
	}
	if !asGIF {
		return nil, nil
	}
	return gif.GIF()
}

// ahead returns a function that returns what produce returns for 0 to n-1, one after the other. The next calls of
// produce, as many as there are processors, are under way beside. Their panics are errors.
func ahead[T any](n int, produce func(i int) (T, error)) func(i int) (T, error) {
	type product struct {
		value T
		err   error
	}
	products := make([]chan product, n)
	begin := func(i int) {
		if i >= n {
			return
		}
		products[i] = make(chan product, 1)
		go func() {
			var p product
			if thrown := envs.Try(func() { p.value, p.err = produce(i) }); thrown != nil {
				p.err = thrown
			}
			products[i] <- p
		}()
	}
	processors := runtime.GOMAXPROCS(0)
	for i := range processors {
		begin(i)
	}
	return func(i int) (T, error) {
		p := <-products[i]
		products[i] = nil
		begin(i + processors)
		return p.value, p.err
	}
}

// drawable returns the last step before the first state that is not finite, or -1 if that is the first state.
func drawable(rec *episode.Recording) int {
	for i := range rec.Length + 1 {
		for _, leaf := range graph.Leaves(rec.State(i)) {
			v, err := graph.Floats(leaf)
			if err != nil {
				continue // no numbers; Draw reports what it cannot draw
			}
			for _, x := range v {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return i - 1
				}
			}
		}
	}
	return rec.Length
}

// shown returns at most `frames` evenly spaced steps from 0 to last; 0 frames means all steps.
func shown(last, frames int) (steps []int) {
	if frames == 1 {
		return []int{last}
	}
	if frames <= 0 || frames > last+1 {
		frames = last + 1
	}
	for i := range frames {
		step := 0
		if frames > 1 {
			step = (i*last + (frames-1)/2) / (frames - 1)
		}
		steps = append(steps, step)
	}
	return steps
}

// returnText formats a return for a caption. The text is always short.
func returnText(x float64) string {
	switch {
	case x == 0:
		return "0.0" // also for -0
	case math.Abs(x) >= 1e7:
		return strconv.FormatFloat(x, 'g', 5, 64)
	}
	return display.Fitness(x)
}
