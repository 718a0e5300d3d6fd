package run

// DisplayRow is a line of the display.
type DisplayRow struct {
	Label string
	Parts []Part
	Curve string // the metric that is drawn as a curve; "": none
	Color string // of the curve: "green", "cyan", "yellow", or "" for dim
	Plain bool   // the row is also part of the line that each round writes where there is no terminal
	Rare  bool   // the row is hidden until a metric of it has a number: for what should not happen
	Gaps  bool   // a part whose metric is NaN is left out, as if the metric were not known yet
}

// Part is a metric of a row, with text before and after it. It is left out until the metric is known.
type Part struct {
	Before, Metric, Behind string
	One                    string // text after the number 1; "": Behind
	Format                 Format
}

// Format is how a number is written.
type Format int

// The formats.
const (
	Fitness Format = iota // 484.2, 1.2e-05
	Percent               // a share of 1 as 96.25 %
	Loss                  // 0.0512
	Whole                 // 12
	Seconds               // 0.012 s
	Bytes                 // 3.1 kB
)

// Curves returns one row for each metric, with its curve.
func Curves(metrics ...string) []DisplayRow {
	rows := make([]DisplayRow, len(metrics))
	for i, name := range metrics {
		rows[i] = DisplayRow{Label: words(name), Parts: []Part{{Metric: name}}, Curve: name, Plain: true}
	}
	return rows
}
