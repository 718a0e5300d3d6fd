// Package notebook shows arrays, tables, curves and pictures in a Jupyter notebook whose kernel is gonb. Outside of a
// notebook its functions do nothing, so a program can keep them.
//
//	curves := notebook.NewCurves("generation", "best", "mean")
//	defer curves.Close()
//	for g := range 100 {
//		best, mean := generation(g)
//		curves.Add(float64(g), best, mean) // the picture moves while the cell runs
//	}
//
// A display is HTML with an SVG element or an embedded picture. It loads nothing from the network, and its colors are
// readable on a light and on a dark page. A new kind of display is one file: it calls HTML, or NewLive if it moves.
//
// A cell is a process of its own. Files keep values between cells: package graph/safetensors for arrays, the folder of
// a run for runs.
//
// The package speaks the protocol of gonb (github.com/janpfeifer/gonb/gonbui/protocol, version 0.11) without importing
// it. One program cannot use both this package and gonbui, because both write to one pipe.
package notebook
