// Package thirdparty carries the pins of what the project fetches from
// outside: which wheel of which distribution, with its checksum, size and
// licence. It imports nothing and decides nothing; xlabridge/plugin reads it.
package thirdparty

import _ "embed"

// PluginPins is the TOML text of plugins.toml; the head of that file says what
// each field means.
//
//go:embed plugins.toml
var PluginPins []byte
