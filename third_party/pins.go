// Package thirdparty embeds the pins of the files that the project downloads: distribution, file, checksum, size and
// license. It also embeds the comparison programs.
package thirdparty

import _ "embed"

// PluginPins is the text of plugins.toml. The comment at the top of the file describes the fields.
//
//go:embed plugins.toml
var PluginPins []byte
