// Package pjrt holds C headers. The packages whose C files include them import it: the go command does not look into
// headers of other folders, but it builds a package anew when what it imports has changed.
package pjrt

import "embed"

// Headers is not read: with the headers in it, the package changes when one of them does.
//
//go:embed *.h
var Headers embed.FS
