package display

import (
	"fmt"
	"math"
	"strings"
	"time"

	"xlarun/rollout/run"
)

// Count writes a large number with three digits and a unit: "51.2 M".
func Count(x float64) string {
	for _, unit := range []string{"", " K", " M", " G"} {
		if math.Abs(x) < 999.5 || math.IsNaN(x) || math.IsInf(x, 0) {
			if unit == "" {
				return fmt.Sprintf("%.0f", x)
			}
			return fmt.Sprintf("%.3g%s", x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.3g T", x)
}

// rate is Count for numbers per second, which may be below 1.
func rate(x float64) string {
	if math.Abs(x) < 9.95 {
		return fmt.Sprintf("%.2g", x)
	}
	return Count(x)
}

// Bytes writes a size in units of 1000: "210 MB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"kB", "MB", "GB"} {
		x /= 1000
		if x < 999.5 {
			return fmt.Sprintf("%.3g %s", x, unit)
		}
	}
	return fmt.Sprintf("%.3g TB", x/1000)
}

// Clock writes a duration as m:ss, or h:mm:ss.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Fitness writes a return with one decimal. Small numbers have more decimals, huge numbers fewer digits.
func Fitness(x float64) string {
	x += 0 // -0 is 0
	switch size := math.Abs(x); {
	case x != 0 && size < 1:
		return fmt.Sprintf("%.3g", x)
	case size >= 1e7:
		return fmt.Sprintf("%.5g", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// Percent writes a fraction as a percentage. What rounds to 0 has no sign.
func Percent(x float64) string {
	text := fmt.Sprintf("%.2f %%", 100*x)
	if text == "-0.00 %" {
		return text[1:]
	}
	return text
}

// number writes x in a format.
func number(x float64, f run.Format) string {
	x += 0 // -0 is 0
	switch f {
	case run.Percent:
		return Percent(x)
	case run.Loss:
		if size := math.Abs(x); size >= 1e5 || x != 0 && size < 1e-3 {
			return fmt.Sprintf("%.3g", x)
		}
		return fmt.Sprintf("%.4f", x)
	case run.Whole:
		if math.Abs(x) >= 1e15 {
			return fmt.Sprintf("%.4g", x)
		}
		return fmt.Sprintf("%.0f", x)
	case run.Seconds:
		return fmt.Sprintf("%.3g s", x)
	case run.Bytes:
		return Bytes(int64(x))
	}
	return Fitness(x)
}

// shares returns each phase's share of a round: "ask 3", …, "tell 5 %". It returns nil if the durations are not known.
func shares(phases []run.Phase) []string {
	sum := run.PhaseSeconds(phases)
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil
	}
	var texts []string
	for _, p := range phases {
		percent := 100 * p.Seconds * p.PerUnit() / sum
		digits := 0
		if percent != 0 && percent < .95 {
			digits = 1
		}
		texts = append(texts, fmt.Sprintf("%s %.*f", p.Name, digits, percent))
	}
	texts[len(texts)-1] += " %"
	return texts
}

// values holds the last value of each metric, and the step that it is of.
type values struct {
	unit string // of the steps
	step int64  // the newest
	last map[string]dated
}

type dated struct {
	number float64
	step   int64
}

// add stores the metrics m. It reports whether a plain row has a metric that was not in the metrics before. For a rare
// row, appeared is true only at the metric's first value.
func (v *values) add(m, before run.Metrics, rows []run.DisplayRow) (appeared bool) {
	for _, r := range rows {
		for _, p := range r.Parts {
			_, now := m.Get(p.Metric)
			_, then := before.Get(p.Metric)
			if r.Rare {
				_, then = v.last[p.Metric]
			}
			appeared = appeared || r.Plain && now && !then
		}
	}
	if v.last == nil {
		v.last = map[string]dated{}
	}
	v.step = m.Step
	for _, x := range m.Values {
		v.last[x.Name] = dated{x.Number, m.Step}
	}
	return appeared
}

// pieces returns the parts of a row whose values are known, and the step that they are of if that is an earlier one.
// The first has no comma before it.
func (v *values) pieces(r run.DisplayRow) []string {
	var known []string
	newest := int64(-1) // -1: no part has a value
	for _, p := range r.Parts {
		text := p.Before + p.Behind
		if p.Metric != "" {
			last, ok := v.last[p.Metric]
			x := last.number
			if !ok || r.Gaps && math.IsNaN(x) {
				continue
			}
			newest = max(newest, last.step)
			text = p.Before + number(x, p.Format) + p.Behind
			if x == 1 && p.One != "" {
				text = p.Before + number(x, p.Format) + p.One
			}
		}
		if len(known) == 0 {
			text = strings.TrimLeft(text, ", ")
		}
		known = append(known, text)
	}
	if newest < 0 && !textOnly(r) {
		return nil // a target without the metric that has to reach it
	}
	if newest >= 0 && newest < v.step {
		known = append(known, fmt.Sprintf(" (%s %d)", v.unit, newest))
	}
	return known
}

// textOnly reports whether a row has no numbers.
func textOnly(r run.DisplayRow) bool {
	for _, p := range r.Parts {
		if p.Metric != "" {
			return false
		}
	}
	return r.Curve == ""
}

// curveFormat returns the number format of a curve's axis, which is its metric's.
func curveFormat(r run.DisplayRow) run.Format {
	for _, p := range r.Parts {
		if p.Metric == r.Curve {
			return p.Format
		}
	}
	return run.Fitness
}
