package claudehub

import (
	"errors"
	"fmt"
)

// Code sorts errors by what the receiver can do about them.
type Code string

// The codes. Absent and "not yours" share NotFound on purpose.
const (
	Invalid         Code = "invalid"         // the request is wrong; the sentence says how
	Unauthenticated Code = "unauthenticated" // no credential, or none that is good
	Forbidden       Code = "forbidden"       // known, and not allowed
	NotFound        Code = "not_found"       // not there, or not yours
	Conflict        Code = "conflict"        // true at another time, not now
	TooLarge        Code = "too_large"
	TooMany         Code = "too_many" // a bound was reached; try later
	Expired         Code = "expired"
	Unavailable     Code = "unavailable" // a part that is needed does not answer
	Internal        Code = "internal"
)

// Error is what a caller gets: a code to act on, a sentence for the person, and a cause for the log.
// Message says what happened and what to do; it never holds a secret.
type Error struct {
	Code    Code
	Message string
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error without a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithCause is Errorf with what lay underneath.
func WithCause(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// CodeOf returns an error's code; Internal for one that has none, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// MessageOf returns the sentence for the person. An error without one gets a neutral sentence: its text is for the log.
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "Something went wrong on our side. The log has the details."
}
