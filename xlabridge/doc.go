// Package xlabridge runs XLA programs through a PJRT plugin: it opens the plugin, compiles through
// a persistent cache, loads and runs programs on one or many devices, and moves arrays.
//
// It uses github.com/gomlx/go-xla with a changed copy of the plugin's function table: entries that need more than
// go-xla offers are replaced. So all programs of the process that use this plugin also use the cache.
//
// Close frees an object; Client.Close closes all objects of the client. If another goroutine uses an object, Close
// frees it after that use.
package xlabridge
