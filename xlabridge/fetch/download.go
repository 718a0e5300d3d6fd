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
	// Waits are the pauses between attempts at one file.
	Waits []time.Duration
}

// stallLimit is how long a download may bring nothing before it is tried again.
const stallLimit = 60 * time.Second

// NewClient returns a client with a time limit for each step of a request.
func NewClient() *Client {
	return &Client{
		HTTP: &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   15 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
			IdleConnTimeout:       30 * time.Second,
			ForceAttemptHTTP2:     true,
		}},
		Waits: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second},
	}
}

var errStalled = errors.New("nothing came for a while")

// Download writes the file at address into dst. It resumes an interrupted download, once after each wait.
func (c *Client) Download(ctx context.Context, address *url.URL, dst *Sink) error {
	for attempt := 0; ; attempt++ {
		retry, err := c.request(ctx, address, dst)
		if err == nil || !retry || ctx.Err() != nil || attempt == len(c.Waits) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.Waits[attempt]):
		}
	}
}

// request makes one request for the bytes that dst lacks. retry means that the same request may succeed later.
func (c *Client) request(ctx context.Context, address *url.URL, dst *Sink) (retry bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallLimit, func() { cancel(errStalled) })
	defer stall.Stop()
	defer func() {
		if err != nil && context.Cause(ctx) == errStalled {
			err = errStalled
		}
	}()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return false, err
	}
	if dst.n > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", dst.n))
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusPartialContent && firstByte(resp) == dst.n:
	case resp.StatusCode == http.StatusOK:
		if err := dst.reset(); err != nil {
			return false, err
		}
	default:
		retry = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
		return retry, fmt.Errorf("the server of the file answers %s", resp.Status)
	}
	err = dst.CopyFrom(ctx, readerFunc(func(p []byte) (int, error) {
		n, err := resp.Body.Read(p)
		if n > 0 {
			stall.Reset(stallLimit)
		}
		return n, err
	}))
	if (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && dst.n < dst.a.Size {
		// Without a content length, a broken answer ends like a whole one.
		return true, fmt.Errorf("it ended after %d of %d bytes", dst.n, dst.a.Size)
	}
	return !isLocal(err) && !errors.Is(err, errTooLong), err
}

// firstByte returns the position of a partial answer in the file, or -1.
func firstByte(resp *http.Response) int64 {
	var first int64
	if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &first); err != nil {
		return -1
	}
	return first
}
