package runner

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"claude-hub/internal/claudehub"
)

// The names of the steps, in the person's words.
const (
	stepToken       = "Setup token"
	stepPlace       = "Waiting for other Sessions to start"
	stepProgram     = "Getting Claude Code"
	stepConfig      = "Writing Claude's configuration"
	stepVariables   = "Getting the Variables"
	stepEnvironment = "Preparing the Environment"
	stepSandbox     = "Starting the Sandbox"
	stepDisk        = "Disk limit"
	stepClone       = "Cloning the repository"
	stepHistory     = "Opening the conversation"
	stepTerminal    = "Starting the terminal"
	stepClaude      = "Waiting for Claude Code's prompt"
	stepLook        = "Look inside"
	stepDelete      = "Deleting its files"
	stepEnd         = "Ending Claude Code"
	stepStop        = "Stopping Claude and its Sandbox"
	stepUnnamed     = "Starting"
	retryAdvice     = "Try again; the Runner's log has the details."
	diskFullWords   = "The disk of this machine is full. Free some space, then retry: nothing of the Session is lost."
)

// stepError is an error that knows what the person can do.
type stepError struct {
	step, fix, detail, choice string
	retry                     bool
	err                       error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// failureOf makes of an error what the Session's page shows.
func failureOf(err error, at *claudehub.Step) *claudehub.Failure {
	f := &claudehub.Failure{Step: stepUnnamed, Retry: true, Fix: retryAdvice}
	if at != nil {
		f.Step = at.Name
	}
	var se *stepError
	if errors.As(err, &se) {
		f.Step, f.Detail, f.Choice, f.Retry = se.step, se.detail, se.choice, se.retry
		if se.fix != "" {
			f.Fix = se.fix
		}
	}
	f.Reason = claudehub.MessageOf(err)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		f.Reason, f.Fix = "There is no space left on the disk.", diskFullWords
	case errors.Is(err, context.DeadlineExceeded):
		f.Reason = fmt.Sprintf("%q took too long and was ended.", f.Step)
		f.Fix = "Try again. If it happens again, look at the machine's load and its network."
	}
	return f
}

// step shows a named step while f runs, and ends it after limit. f may report how far it is: detail, and a part of 1 or
// -1.
func (s *session) step(ctx context.Context, phase claudehub.Phase, name string, limit time.Duration,
	f func(ctx context.Context, progress func(string, float64)) error) error {
	began := now()
	limit = s.on.cfg.patient(limit)
	show := func(detail string, part float64) {
		s.see(ctx, func(o *claudehub.Observed) {
			o.Phase, o.Activity, o.Failure = phase, "", nil
			o.Step = &claudehub.Step{Name: name, Detail: detail, Progress: part, Since: began, Deadline: began.Add(limit)}
		})
	}
	show("", -1)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(ctx, show)
	if err == nil {
		return nil
	}
	var se *stepError
	if errors.As(err, &se) {
		return err
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(err, ctx.Err())
	}
	return &stepError{step: name, err: err, retry: true}
}
