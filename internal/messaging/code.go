package messaging

// Codes of errors in a line of JSON; docs/reference/exit-codes.md has their exit statuses.
const (
	CodeNoServer = "no_server" // nobody answers
	CodeRefused  = "refused"   // the server, or a host that is there, refuses
	CodeOver     = "over"      // it was over without this process, which is no failure
)

// CodedError is an error with a code.
type CodedError struct{ Code, Text string }

func (e *CodedError) Error() string { return e.Text }

// ErrorCode returns the code of a line of JSON.
func (e *CodedError) ErrorCode() string { return e.Code }
