package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"claude-hub/internal/claudehub"
)

const (
	problemLimit  = 64 << 10
	maxSentence   = 2000
	maxRetryAfter = time.Hour
)

// Status is the HTTP side of an error that the Hub answered with; it is the Cause of the *claudehub.Error.
type Status struct {
	Status     int
	RetryAfter time.Duration // 0: the Hub named none
	Request    string        // what the Hub's log calls it
	Word       string        // of the device flow (RFC 8628), such as authorization_pending
}

func (s *Status) Error() string {
	if s.Request == "" {
		return fmt.Sprintf("status %d", s.Status)
	}
	return fmt.Sprintf("status %d, request %s", s.Status, s.Request)
}

// RetryAfter is how long the Hub asked to wait before the same is tried again; 0 when it did not.
func RetryAfter(err error) time.Duration {
	var s *Status
	if errors.As(err, &s) {
		return s.RetryAfter
	}
	return 0
}

var codes = map[int]claudehub.Code{
	http.StatusBadRequest:            claudehub.Invalid,
	http.StatusUnprocessableEntity:   claudehub.Invalid,
	http.StatusUnauthorized:          claudehub.Unauthenticated,
	http.StatusForbidden:             claudehub.Forbidden,
	http.StatusNotFound:              claudehub.NotFound,
	http.StatusMethodNotAllowed:      claudehub.NotFound,
	http.StatusConflict:              claudehub.Conflict,
	http.StatusGone:                  claudehub.Expired,
	http.StatusRequestEntityTooLarge: claudehub.TooLarge,
	http.StatusTooManyRequests:       claudehub.TooMany,
	http.StatusBadGateway:            claudehub.Unavailable,
	http.StatusServiceUnavailable:    claudehub.Unavailable,
	http.StatusGatewayTimeout:        claudehub.Unavailable,
}

var knownCodes = []claudehub.Code{
	claudehub.Invalid, claudehub.Unauthenticated, claudehub.Forbidden, claudehub.NotFound, claudehub.Conflict,
	claudehub.TooLarge, claudehub.TooMany, claudehub.Expired, claudehub.Unavailable, claudehub.Internal,
}

// problem turns an answer that is not a success into an error. What is not the Hub's (a proxy's page) is not quoted.
func (c *Client) problem(resp *http.Response) error {
	cause := &Status{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header, time.Now()), Request: printable(resp.Header.Get("X-Request-Id"), 64)}
	if resp.StatusCode/100 == 3 {
		return claudehub.WithCause(claudehub.Invalid, cause, "The Hub at %s has another address: %s. Use that one.",
			c.URL(), printable(resp.Header.Get("Location"), 200))
	}
	code, ok := codes[resp.StatusCode]
	if !ok {
		code = claudehub.Internal
	}
	var p struct {
		Detail string         `json:"detail"`
		Code   claudehub.Code `json:"code"`
		Error  string         `json:"error"`
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, problemLimit))
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(b, &p) == nil {
		cause.Word = printable(p.Error, 64)
		if slices.Contains(knownCodes, p.Code) {
			code = p.Code
		}
		if s := printable(p.Detail, maxSentence); s != "" {
			return claudehub.WithCause(code, cause, "%s", s)
		}
	}
	return claudehub.WithCause(code, cause, "%s answers with status %d and no reason. Is that the address of a Hub?", c.URL(), resp.StatusCode)
}

// retryAfter reads seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	d := time.Duration(0)
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// printable makes text from outside fit for one line of a terminal.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}
