package pjrt

// Codes of errors, which are canonical status codes.
const (
	unknown           = 2
	DeadlineExceeded  = 4
	NotFound          = 5
	ResourceExhausted = 8
	Unimplemented     = 12
	Unavailable       = 14
)

// Error is an error that the plugin reported.
type Error struct {
	// Code is the canonical status code (3 invalid argument, 8 resource exhausted, 12 unimplemented, ...).
	Code int
	// Message is the plugin's text, which may have several lines.
	Message string
}

// Error returns the plugin's text.
func (e *Error) Error() string { return e.Message }
