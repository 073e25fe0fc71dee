package fleet

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var terminalName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// SendInput hands keystrokes or a paste to the Runner's stream. Unavailable says that nobody is there to take it.
func (f *Fleet) SendInput(ctx context.Context, p claudehub.PersonID, in wire.Input) error {
	if err := validInput(in); err != nil {
		return err
	}
	in.Author = p
	return f.toRunner(ctx, p, in.Session, wire.EventInput, in)
}

// SendResize hands the size owner's wish to the Runner's stream.
func (f *Fleet) SendResize(ctx context.Context, p claudehub.PersonID, r wire.Resize) error {
	if err := claudehub.ValidSize(r.Cols, r.Rows); err != nil {
		return err
	}
	r.Author = p
	return f.toRunner(ctx, p, r.Session, wire.EventResize, r)
}

func (f *Fleet) toRunner(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, kind string, v any) error {
	to, err := f.st.Read().Reach(ctx, id)
	if err != nil {
		return absent(err, errNoSession)
	}
	if !claudehub.MayDrive(p, to.Creator) {
		if err := f.mayDrive(ctx, p, id); err != nil {
			return err
		}
	}
	if !f.live(to.Runner, to.Link, to.Lease) {
		return f.notLinked(to)
	}
	subject, err := wire.RunnerSubject(to.Runner)
	if err != nil {
		return err
	}
	return f.send(subject, kind, v)
}

func (f *Fleet) notLinked(to store.Reach) error {
	since := to.Link.Since
	if to.Link.State == claudehub.LinkUp { // silent, and not yet called down
		since = f.lastSign(to.Runner, to.Lease)
	}
	return claudehub.Errorf(claudehub.Unavailable,
		"The Session's Runner has not been connected for %s, so this was not sent. Check that its machine is awake and online.",
		inWords(f.now().Sub(since)))
}

// inWords says a duration as a person would.
func inWords(d time.Duration) string {
	unit := func(n int, name string) string {
		if n == 1 {
			return "1 " + name
		}
		return fmt.Sprintf("%d %ss", n, name)
	}
	switch {
	case d < time.Minute:
		return unit(max(int(d.Seconds()), 1), "second")
	case d < time.Hour:
		return unit(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return unit(int(d.Hours()), "hour")
	default:
		return unit(int(d.Hours()/24), "day")
	}
}

func validInput(in wire.Input) error {
	most := claudehub.MaxKeys
	if in.Kind == wire.InputPaste {
		most = claudehub.MaxPaste
	}
	switch {
	case in.Kind != wire.InputKeys && in.Kind != wire.InputPaste, !terminalName.MatchString(in.Terminal), in.N == 0, len(in.Life) != wire.LifeLen:
		return claudehub.Errorf(claudehub.Invalid, "That input is malformed. Reload the page.")
	case len(in.Data) == 0:
		return claudehub.Errorf(claudehub.Invalid, "There is nothing to send.")
	case len(in.Data) > most:
		return claudehub.Errorf(claudehub.TooLarge, "That is %d KB; the most that goes in at once is %d KB. Put it in a file of the workspace.",
			len(in.Data)>>10, most>>10)
	}
	return nil
}

// Attach tells a Runner that this Hub has viewers for a Session's screen. Who may watch was asked before.
func (f *Fleet) Attach(_ context.Context, r claudehub.RunnerID, a wire.Attach) error {
	return f.toStream(r, wire.EventAttach, a)
}

// Detach tells a Runner that this Hub has no viewers any more.
func (f *Fleet) Detach(_ context.Context, r claudehub.RunnerID, d wire.Detach) error {
	return f.toStream(r, wire.EventDetach, d)
}

func (f *Fleet) toStream(r claudehub.RunnerID, kind string, v any) error {
	subject, err := wire.RunnerSubject(r)
	if err != nil {
		return err
	}
	return f.send(subject, kind, v)
}

// OwnsSession refuses a screen posted for a Session that is not this Runner's.
func (f *Fleet) OwnsSession(ctx context.Context, r claudehub.RunnerID, id claudehub.SessionID) error {
	to, err := f.st.Read().Reach(ctx, id)
	if err != nil {
		return absent(err, errNoSession)
	}
	return runs(r, store.Session{Session: claudehub.Session{Runner: to.Runner}})
}
