// Package play finds the members that runs have saved, plays them on fresh episodes, draws them playing, and writes
// them for readers in other languages.
package play

import (
	"fmt"
	"image"
	"math"
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
	lastDelay  = time.Second // of the last frame, so that the end is seen before the picture begins again
)

// size of a picture, its caption included.
var size = image.Pt(320, 200)

// Record plays episode 0 of a seed.
func Record(b xlabridge.Backend, r *episode.Rollout, params any, seed int64) (*episode.Recording, error) {
	return episode.Record(b, r, params, random.FoldIn(run.EpisodesKey(seed), 0))
}

// Draw is the GIF of a recording, with step, return so far and seed written above each frame; nil if the environment
// cannot be drawn. It has at most so many frames, the first and the last among them; 0 for one a step. It ends before a
// state that is not finite, which nothing can draw.
func Draw(env envs.Environment, rec *episode.Recording, seed int64, frames int) ([]byte, error) {
	if _, ok := envs.DrawerOf(env); !ok {
		return nil, nil
	}
	return film{size: size, frames: frames}.of(env, rec, seed, true)
}

// film says how a recording is drawn.
type film struct {
	size   image.Point                             // of a frame, its caption included
	frames int                                     // at most; 0 for one a step
	each   func(step int, frame *image.RGBA) error // is called with each frame; nil: nobody is
}

// of draws a recording; with asGIF it gives the GIF.
func (f film) of(env envs.Environment, rec *episode.Recording, seed int64, asGIF bool) ([]byte, error) {
	drawer, ok := envs.DrawerOf(env)
	last := drawable(rec)
	if !ok || last < 0 {
		return nil, fmt.Errorf("the first state of %s is not finite: there is nothing to draw", env.Spec().ID)
	}
	text := newCaptions(rec, seed, f.size.X)
	var gif runfolder.Animation
	for _, step := range shown(last, f.frames) {
		img, err := drawer.Draw(rec.State(step), image.Pt(f.size.X, f.size.Y-text.height()))
		if err != nil {
			return nil, err
		}
		frame := text.above(img, step)
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

// drawable is the last step up to which all states are finite; -1 where the first one is not.
func drawable(rec *episode.Recording) int {
	for i := range rec.Length + 1 {
		for _, leaf := range graph.Leaves(rec.State(i)) {
			v, err := graph.Floats(leaf)
			if err != nil {
				continue // no numbers: Draw says what it thinks of it
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

// shown are the steps, of 0 to last, that at most so many frames show, evenly apart; 0 frames: all.
func shown(last, frames int) (steps []int) {
	if frames == 1 {
		return []int{last}
	}
	if frames <= 0 || frames > last+1 {
		frames = last + 1
	}
	for i := range frames {
		at := 0
		if frames > 1 {
			at = (i*last + (frames-1)/2) / (frames - 1)
		}
		steps = append(steps, at)
	}
	return steps
}

// number is a return as it is written in a caption: short, whatever it is.
func number(x float64) string {
	switch {
	case x == 0:
		return "0.0" // without the sign that it may have
	case math.Abs(x) >= 1e7:
		return strconv.FormatFloat(x, 'g', 5, 64)
	}
	return display.Fitness(x)
}
