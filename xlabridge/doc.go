// Package xlabridge runs XLA programs through a PJRT plugin: it opens the plugin, compiles through
// a persistent cache, loads and runs programs on one or many devices, and moves arrays.
//
// Calls of the plugin go through xlabridge/internal/pjrt. Package goxla lets users of github.com/gomlx/go-xla run on an
// open client, with its cache.
//
// Close frees an object; Client.Close closes all objects of the client. If another goroutine uses an object, Close
// frees it after that use.
package xlabridge
