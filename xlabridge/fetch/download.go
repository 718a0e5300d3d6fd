package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Client downloads by HTTP.
type Client struct {
	HTTP *http.Client
	// Stall is how long a download may bring nothing before it is tried again.
	Stall time.Duration
	// Waits are the pauses between attempts at one file.
	Waits []time.Duration
}

// Waits and stall of a [NewClient].
const stallLimit = 60 * time.Second

var retryWaits = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second}

// NewTransport is a transport of its own with limits for each step.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		IdleConnTimeout:       30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// NewClient is a client over t.
func NewClient(t http.RoundTripper) *Client {
	return &Client{HTTP: &http.Client{Transport: t}, Stall: stallLimit, Waits: retryWaits}
}

var errStalled = errors.New("nothing came for a while")

// Download writes the file at address into dst. A broken connection is taken up again where it broke, as often as there
// are waits.
func (c *Client) Download(ctx context.Context, address *url.URL, dst *Sink) error {
	for attempt := 0; ; attempt++ {
		again, err := c.once(ctx, address, dst)
		if err == nil || !again || ctx.Err() != nil || attempt == len(c.Waits) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.Waits[attempt]):
		}
	}
}

// once makes one request for what dst still lacks. again says that the same request may succeed later.
func (c *Client) once(ctx context.Context, address *url.URL, dst *Sink) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(c.Stall, func() { cancel(errStalled) })
	defer stall.Stop()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return false, err
	}
	if dst.n > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", dst.n))
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return true, stalled(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusPartialContent && continues(resp, dst.n):
	case resp.StatusCode == http.StatusOK:
		if err := dst.reset(); err != nil {
			return false, err
		}
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500:
		return true, fmt.Errorf("the server of the file answers %s", resp.Status)
	default:
		return false, fmt.Errorf("the server of the file answers %s", resp.Status)
	}
	err = dst.CopyFrom(ctx, readerFunc(func(p []byte) (int, error) {
		n, err := resp.Body.Read(p)
		if n > 0 {
			stall.Reset(c.Stall)
		}
		return n, err
	}))
	var write WriteError
	switch {
	case err == nil && dst.n < dst.a.Size:
		// A server that sends no length ends a broken answer like a whole one.
		return true, fmt.Errorf("it ended after %d of %d bytes", dst.n, dst.a.Size)
	case err == nil:
		return false, nil
	case errors.As(err, &write), errors.Is(err, errTooLong):
		return false, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return true, fmt.Errorf("it ended after %d of %d bytes", dst.n, dst.a.Size)
	}
	return true, stalled(ctx, err)
}

// stalled tells an end by the stall timer from the caller's own.
func stalled(ctx context.Context, err error) error {
	if context.Cause(ctx) == errStalled {
		return errStalled
	}
	return err
}

// continues reports whether a partial answer begins at byte n.
func continues(resp *http.Response, n int64) bool {
	var from int64
	_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &from)
	return err == nil && from == n
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
