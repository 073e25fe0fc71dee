package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// Problem is what every error looks like outside (RFC 9457).
type Problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail" doc:"what happened and what to do, for the person"`
	Word   string         `json:"error,omitempty" doc:"to a device that polls: the word of RFC 8628" enum:"authorization_pending,slow_down,expired_token,access_denied"`
	Code   claudehub.Code `json:"code" enum:"invalid,unauthenticated,forbidden,not_found,conflict,too_large,too_many,expired,unavailable,internal"`
}

// Error, GetStatus and ContentType are what huma asks of an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of problems.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

var statuses = map[claudehub.Code]int{
	claudehub.Invalid:         http.StatusBadRequest,
	claudehub.Unauthenticated: http.StatusUnauthorized,
	claudehub.Forbidden:       http.StatusForbidden,
	claudehub.NotFound:        http.StatusNotFound,
	claudehub.Conflict:        http.StatusConflict,
	claudehub.TooLarge:        http.StatusRequestEntityTooLarge,
	claudehub.TooMany:         http.StatusTooManyRequests,
	claudehub.Expired:         http.StatusGone,
	claudehub.Unavailable:     http.StatusServiceUnavailable,
	claudehub.Internal:        http.StatusInternalServerError,
}

// problemOf turns any error into what may be said of it. The error itself goes to the request's log line.
func problemOf(ctx context.Context, err error) *Problem {
	if rec := recordOf(ctx); rec != nil && rec.err == nil {
		rec.err = err
	}
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var big *http.MaxBytesError
	code, detail := claudehub.CodeOf(err), claudehub.MessageOf(err)
	switch {
	case errors.As(err, &big):
		code, detail = claudehub.TooLarge, tooLarge(big.Limit)
	case code == claudehub.Internal && (errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil):
		// Whatever was cut off in the middle has words of its own for that.
		code, detail = claudehub.Unavailable, "The Hub took too long to answer. Try again in a moment."
	}
	out := newProblem(code, detail)
	if d := (*fleet.DeviceError)(nil); errors.As(err, &d) {
		out = newProblem(claudehub.Invalid, detail) // its status, for all of its words
		out.Code, out.Word = code, d.Word
	}
	return out
}

func newProblem(code claudehub.Code, detail string) *Problem {
	status, ok := statuses[code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

func tooLarge(limit int64) string {
	return claudehub.Errorf(claudehub.TooLarge, "That is too much in one piece: at most %d KB are taken.", limit>>10).Message
}

// errNothing is what an address without a route answers; and, to those whom it does not serve, an admin's.
func errNothing(method string) error {
	return claudehub.Errorf(claudehub.NotFound, "There is nothing at this address for %s.", method)
}

// writeError is the one place where an error becomes an answer.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(r.Context(), err)
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	if _, bearer := bearerOf(r); p.Status == http.StatusUnauthorized && (bearer || recordOf(r.Context()).principal == runnerOf) {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if l := (*limited)(nil); errors.As(err, &l) {
		l.headers(h)
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// huma reports what it finds itself (a body that is no JSON, a field of the wrong type) through these two variables,
// which are its only hook. They are set once, before any API exists.
func init() {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		c := context.Background()
		if ctx != nil {
			c = ctx.Context()
		}
		return humaProblem(c, status, msg, errs)
	}
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return humaProblem(context.Background(), status, msg, errs)
	}
	huma.DefaultArrayNullable = false // our lists are never null
}

func humaProblem(ctx context.Context, status int, msg string, errs []error) *Problem {
	cause := errors.Join(append([]error{errors.New(msg)}, withoutValues(errs)...)...)
	var big *http.MaxBytesError
	switch {
	case errors.As(errors.Join(errs...), &big):
		return problemOf(ctx, big)
	case status == http.StatusRequestEntityTooLarge:
		return problemOf(ctx, claudehub.WithCause(claudehub.TooLarge, cause, "That is too much in one piece."))
	case status >= 500:
		return problemOf(ctx, cause)
	}
	detail := "The request is not right: " + msg + "."
	if len(errs) > 0 {
		var d *huma.ErrorDetail
		if errors.As(errs[0], &d) {
			detail = "The request is not right: " + d.Message + " (" + d.Location + ")."
		}
	}
	return problemOf(ctx, claudehub.WithCause(claudehub.Invalid, cause, "%s", detail))
}

// withoutValues leaves out what was sent: huma quotes it, up to the whole body, and the cause of a refusal is logged. It may
// be the value of a Variable, which has no shape by which a log could know it.
func withoutValues(errs []error) []error {
	out := make([]error, len(errs))
	for i, err := range errs {
		out[i] = err
		if d := (*huma.ErrorDetail)(nil); errors.As(err, &d) {
			out[i] = fmt.Errorf("%s (%s)", d.Message, d.Location)
		}
	}
	return out
}
