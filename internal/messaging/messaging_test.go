package messaging

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// An address has a server and a name. The error of a wrong one says what an address is.
func TestAddress(t *testing.T) {
	for text, want := range map[string][2]string{
		"nats://head:4222/try":  {"nats://head:4222", "try"},
		"tls://head/a_b-C9/":    {"tls://head", "a_b-C9"},
		"nats://[::1]:4222/try": {"nats://[::1]:4222", "try"},
	} {
		server, name, err := ParseAddress(text)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{server, name})
	}
	for text, want := range map[string]string{
		"":                     "nats://HOST:PORT/NAME or tls://HOST:PORT/NAME",
		"http://head/try":      "nats://HOST:PORT/NAME or tls://HOST:PORT/NAME",
		"nats:///try":          "nats://HOST:PORT/NAME or tls://HOST:PORT/NAME",
		"nats://u:p@head/try":  "an address without a password",
		"nats://head:4222":     "a name after the server",
		"nats://head:4222/a b": "a name after the server",
	} {
		_, _, err := ParseAddress(text)
		require.ErrorContains(t, err, want, text)
	}
}

// An error of a server says what to do.
func TestUnreachable(t *testing.T) {
	_, err := Server{URL: "nats://127.0.0.1:1"}.Connect("test")
	require.ErrorContains(t, err, "nats://127.0.0.1:1 cannot be reached")
	require.ErrorContains(t, err, "start xlarun serve or nats-server -js there")
	for cause, want := range map[error]string{
		nats.ErrAuthorization:         "the server at nats://a wants a token: give it by the variable XLARUN_TOKEN",
		nats.ErrSecureConnRequired:    "tls://",
		errors.New("no such machine"): "start xlarun serve",
	} {
		require.ErrorContains(t, Server{URL: "nats://a"}.Unreachable(cause), want)
	}
}
