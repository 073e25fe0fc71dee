// Package redact keeps credentials out of logs. Its slog handler masks whatever has the shape of one of ours or of a
// setup token, in messages and attributes of any kind, before the next handler sees it.
//
// It is the second line: code does not log credentials in the first place. What has no known shape (a Variable's value)
// it cannot know.
package redact

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
)

// shapes are our tokens (ch and a letter, design §4), Anthropic's, and GitHub's.
var shapes = regexp.MustCompile(`\b(ch[a-z]_|sk-ant-[a-z0-9]+-|gh[a-z]_|github_pat_)[A-Za-z0-9_-]{8,}`)

// Text masks every credential in s, leaving its prefix to tell what it was.
func Text(s string) string {
	return shapes.ReplaceAllString(s, "${1}…")
}

// New makes a handler that masks, then hands on to next.
func New(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ next slog.Handler }

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(mask(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = mask(a)
	}
	return handler{h.next.WithAttrs(clean)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.next.WithGroup(Text(name))} }

// mask makes text of what it does not know, since an encoder further on would, out of our sight.
func mask(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		v = slog.StringValue(Text(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, g := range group {
			clean[i] = mask(g)
		}
		v = slog.GroupValue(clean...)
	case slog.KindAny:
		v = slog.StringValue(Text(fmt.Sprintf("%+v", v.Any())))
	}
	return slog.Attr{Key: Text(a.Key), Value: v}
}
