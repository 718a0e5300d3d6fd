package xlabridge

// PluginError is an error that the plugin reported.
type PluginError struct {
	// Code is the canonical status code (3 invalid argument, 8 resource exhausted, 12 unimplemented, ...).
	Code int
	// Message is the plugin's text, which may have several lines.
	Message string
}

// Error returns the plugin's text.
func (e *PluginError) Error() string { return e.Message }
