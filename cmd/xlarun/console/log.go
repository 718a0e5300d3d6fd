package console

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/spf13/pflag"
)

// LogFlags are --log and --log-level.
type LogFlags struct {
	form, level string
	flags       *pflag.FlagSet
}

// Add adds the flags.
func (f *LogFlags) Add(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.form, "log", "text", "form of what is printed: text for people, json for log collectors, a "+
		"line for each event")
	flags.StringVar(&f.level, "log-level", "info", "with --log json: least level of what is printed: debug, info, "+
		"warn, error")
}

// JSON reports whether each event is a line of JSON.
func (f *LogFlags) JSON() bool { return f.form == "json" }

// Logger returns what writes to out. Text is the messages alone, which say all that attributes say.
func (f *LogFlags) Logger(out io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, BadInput("--log-level got %q, wants debug, info, warn or error", f.level)
	}
	if f.form == "text" && f.flags.Changed("log-level") {
		return nil, BadInput("--log-level got %s, wants --log json with it", f.level)
	}
	switch f.form {
	case "json":
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})), nil
	case "text":
		return slog.New(&textHandler{out: out}), nil
	}
	return nil, BadInput("--log got %q, wants text or json", f.form)
}

// textHandler writes messages as lines.
type textHandler struct {
	mu  sync.Mutex
	out io.Writer
}

// Enabled implements slog.Handler.
func (h *textHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintln(h.out, r.Message)
	return err
}

// WithAttrs implements slog.Handler.
func (h *textHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *textHandler) WithGroup(string) slog.Handler { return h }
