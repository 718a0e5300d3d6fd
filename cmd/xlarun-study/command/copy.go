package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	miniocreds "github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/internal/quantity"
	"xlarun/rollout/run/runfolder"
)

func copyCommand(a *cli.App) *cobra.Command {
	var w runfolder.Writer
	asJSON := false
	cmd := &cobra.Command{
		Use: "copy FOLDER s3://BUCKET/PREFIX | s3://BUCKET/PREFIX [FOLDER]",
		Long: "Copy brings the mirror of a run up to the run's folder, as --mirror does while the run works, or a " +
			"folder up to its mirror. It copies what is new or has changed. With one argument it says what the " +
			"mirror holds.\nThe variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION " +
			"and AWS_ENDPOINT_URL have their usual meaning. Without keys, the role of the machine or pod counts.",
		Example: "  xlarun copy s3://bucket/try runs/try\n  xlarun copy runs/try s3://bucket/try",
		Args: func(_ *cobra.Command, args []string) error {
			if n := len(args); n != 1 && n != 2 {
				return console.BadInput("got %d arguments, wants a mirror, or a mirror and a folder", n)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			at, dir, up := args[0], "", false
			if len(args) == 2 {
				dir = args[1]
				if up = isBucket(dir); up {
					at, dir = dir, at
				}
			}
			if !isBucket(at) || isBucket(dir) {
				return console.BadInput("got %s, wants one s3://BUCKET/PREFIX, and a folder of this machine",
					strings.Join(args, " "))
			}
			b, err := openBucket(at, a.Getenv)
			if err != nil {
				return err
			}
			x, err := runfolder.ReadIndex(ctx, b)
			if err == nil && x.Run == "" { // a server of another kind has no file either
				err = b.exists(ctx)
			}
			if err != nil {
				return mirrorError(at, err)
			}
			switch {
			case up:
				if w.Holder == "" { // the user copies; a run that writes the mirror goes on
					step, _ := x.Step()
					if newest, _, err := x.Newest(dir); err == nil && newest < step {
						return console.BadInput("%s is newer (step %d) than %s (step %d): copy it to a folder, or "+
							"name another mirror", at, step, dir, newest)
					}
					w = runfolder.Writer{Run: rand.Text(), Holder: x.Holder, After: x.Holder, Ended: x.Ended}
				}
				if err := w.Copy(ctx, dir, b); err != nil {
					return mirrorError(at, err)
				}
				x, err = runfolder.ReadIndex(ctx, b)
			case dir != "":
				err = runfolder.Fetch(ctx, b, dir)
			}
			if err != nil {
				return mirrorError(at, err)
			}
			if asJSON {
				return a.PrintJSON(x)
			}
			step, holds := x.Step()
			if !holds {
				fmt.Fprintf(a.Out, "%s is empty\n", at)
				return nil
			}
			size := int64(0)
			for _, file := range x.Files {
				size += file.Size
			}
			fmt.Fprintf(a.Out, "%s holds step %d: %s, %d bytes\n", at, step,
				quantity.Count(len(x.Files), "file", "files"), size)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "end stdout with one line of JSON, the result")
	for name, to := range map[string]*string{"run": &w.Run, "holder": &w.Holder, "after": &w.After} {
		f.StringVar(to, name, "", "for runs with --mirror") // a run's own
		_ = f.MarkHidden(name)
	}
	f.BoolVar(&w.Ended, "ended", false, "for runs with --mirror")
	_ = f.MarkHidden("ended")
	return cmd
}

// mirrorError is the error of a mirror that does not answer, unless it is another.
func mirrorError(at string, err error) error {
	err = fmt.Errorf("%s: %w", at, err)
	if _, ok := errors.AsType[console.Coded](err); ok {
		return err
	}
	return console.WithCode(console.CodeNoServer, "%w", err)
}

func isBucket(text string) bool { return strings.HasPrefix(text, "s3://") }

// bucket is a part of a bucket of an S3 server as a runfolder.Store.
type bucket struct {
	client       minio.Core
	name, prefix string
}

// openBucket opens s3://BUCKET/PREFIX, with what the variables of the environment say.
func openBucket(at string, getenv func(string) string) (*bucket, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(at, "s3://"), "/")
	if name == "" {
		return nil, console.BadInput("got %s, wants s3://BUCKET/PREFIX", at)
	}
	server := getenv("AWS_ENDPOINT_URL_S3")
	if server == "" {
		server = getenv("AWS_ENDPOINT_URL")
	}
	if server == "" {
		server = "https://s3.amazonaws.com"
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, console.BadInput("AWS_ENDPOINT_URL has %q, wants https://HOST or http://HOST:PORT", server)
	}
	region := getenv("AWS_REGION")
	if region == "" {
		region = getenv("AWS_DEFAULT_REGION")
	}
	client, err := minio.NewCore(u.Host, &minio.Options{Secure: u.Scheme == "https", Region: region,
		Creds: miniocreds.NewChainCredentials([]miniocreds.Provider{&miniocreds.EnvAWS{}, &miniocreds.IAM{}}),
		// The caller tries again.
		MaxRetries: 3})
	if err != nil {
		return nil, console.BadInput("%s: %w", at, err)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return &bucket{*client, name, prefix}, nil
}

// exists returns an error if there is no such bucket.
func (b *bucket) exists(ctx context.Context) error {
	is, err := b.client.BucketExists(ctx, b.name)
	if err == nil && !is {
		err = b.missing()
	}
	return err
}

// missing is the error of a server without the bucket.
func (b *bucket) missing() error {
	return fmt.Errorf("the server %s has no bucket %s, or speaks no S3: give another one, or another AWS_ENDPOINT_URL",
		b.client.EndpointURL(), b.name)
}

// Get implements runfolder.Store.
func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	in, _, _, err := b.client.GetObject(ctx, b.name, b.prefix+name, minio.GetObjectOptions{})
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchKey:
		err = &fs.PathError{Op: "get", Path: name, Err: fs.ErrNotExist}
	case minio.NoSuchBucket:
		err = b.missing()
	}
	return in, err
}

// Put implements runfolder.Store.
func (b *bucket) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	_, err := b.client.Client.PutObject(ctx, b.name, b.prefix+name, from, size, minio.PutObjectOptions{})
	return err
}

// Remove implements runfolder.Store.
func (b *bucket) Remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
}
