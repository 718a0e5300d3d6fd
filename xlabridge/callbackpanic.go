package xlabridge

import "xlarun/xlabridge/internal/callback"

// CallbackPanic is the value that a program's call panics with after a callback (graph.RegisterCallback) panicked: the
// callback's value and stack. If the callback panicked with a *graph.Error, the call returns that as its error.
type CallbackPanic = callback.Panic
