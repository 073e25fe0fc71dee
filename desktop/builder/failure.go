package builder

import (
	"errors"
	"fmt"
	"strings"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Failed is a build that did not come to its end.
type Failed struct {
	Build   claudehub.BuildID
	Failure claudehub.Failure
	Line    int // of the setup script; 0 when it is not known
	// Cancelled tells that someone wanted it so.
	Cancelled bool
	cause     error
}

func (f *Failed) Error() string {
	s := f.Failure.Step + ": " + f.Failure.Reason
	if f.cause != nil {
		s += ": " + f.cause.Error()
	}
	return s
}

// Unwrap gives the sentence for a person, and then the cause.
func (f *Failed) Unwrap() []error {
	code := claudehub.Invalid
	switch {
	case f.Cancelled:
		code = claudehub.Conflict
	case f.Failure.Retry:
		code = claudehub.Unavailable
	}
	told := claudehub.Errorf(code, "%s %s", f.Failure.Reason, f.Failure.Fix)
	if f.cause == nil {
		return []error{told}
	}
	return []error{told, f.cause}
}

// failedOf is the error of a build that failed before.
func failedOf(o wire.ObservedBuild) *Failed {
	f := &Failed{Build: o.ID, Line: o.Line, Cancelled: o.State == claudehub.BuildCancelled}
	if o.Failure != nil {
		f.Failure = *o.Failure
	}
	return f
}

// trouble is a failure on its way up, not yet told in which step it came.
type trouble struct {
	claudehub.Failure
	line  int
	cause error
	kept  bool // the Sandbox is worth a look inside
}

func (t *trouble) Error() string {
	if t.cause != nil {
		return fmt.Sprintf("%s: %v", t.Reason, t.cause)
	}
	return t.Reason
}

func (t *trouble) Unwrap() error { return t.cause }

func troubled(cause error, reason, fix string) *trouble {
	return &trouble{Failure: claudehub.Failure{Reason: reason, Fix: fix}, cause: cause}
}

var (
	errTooLong  = errors.New("the build took too long")
	errDiskFull = errors.New("the build took more disk than it may")
	errNoDisk   = errors.New("the machine's disk is nearly full")
)

// explain makes a trouble of any error. cause is why the build's context ended, if it did.
func (b *Builder) explain(cause error, j *job, err error) *trouble {
	var t *trouble
	if cause != nil {
		err = errors.Join(cause, err)
	}
	switch {
	case errors.Is(err, errTooLong):
		t = troubled(err, fmt.Sprintf("The build was not done after %s, and was ended.", shortTime(b.o.Limit)),
			"Look at the log for what it waits for: a command that never ends, or one that asks for input. Start servers in the Session, not in the setup script.")
		t.kept = true
	case errors.Is(err, errDiskFull):
		t = troubled(err, fmt.Sprintf("The build filled its disk: the Environment has %s.", size(j.Recipe.Disk)),
			"Give the Environment more disk, or have the setup script remove what it needs no more (caches, sources).")
		t.kept = true
	case errors.Is(err, errNoDisk):
		t = troubled(err, "The Runner's disk is nearly full, so the build was ended.", "Reclaim space on the Runner's page, or free some, and build again.")
		t.Retry = true
	case errors.As(err, &t):
		return t
	default:
		t = told(err)
	}
	return t
}

// told splits a sentence for a person into what happened and what to do.
func told(err error) *trouble {
	message := claudehub.MessageOf(err)
	reason, fix, ok := strings.Cut(message, ". ")
	if ok {
		reason += "."
	} else {
		fix = "Build again; if that does not help, look at the Runner's log."
	}
	t := troubled(err, reason, fix)
	switch claudehub.CodeOf(err) {
	case claudehub.Unavailable, claudehub.Internal, claudehub.TooMany:
		t.Retry = true
	}
	return t
}

func size(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.3g GB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MB", n>>20)
}
