package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// DeviceError is why a device gets no token yet, or none at all: Word is the one that RFC 8628 §3.5 has for it.
type DeviceError struct {
	Word string
	err  *claudehub.Error
}

func (e *DeviceError) Error() string { return e.err.Error() }

// Unwrap gives the sentence and the code.
func (e *DeviceError) Unwrap() error { return e.err }

func pollError(word string, code claudehub.Code, format string, args ...any) *DeviceError {
	return &DeviceError{word, claudehub.Errorf(code, format, args...)}
}

// A code that nobody has, that was used and that is over are alike.
func errDeviceOver() *DeviceError {
	return pollError(wire.DeviceExpired, claudehub.Expired, "This code is over. Ask for a new one.")
}

// PollDevice gives a device its token, once, when a person has approved it. Otherwise the error is a *DeviceError.
func (f *Fleet) PollDevice(ctx context.Context, code claudehub.Token) (wire.DeviceToken, error) {
	var out wire.DeviceToken
	var runner *claudehub.Runner
	var refused *DeviceError
	err := f.writeAgain(ctx, func(q store.Q) error {
		refused, runner = nil, nil
		d, err := q.LockDevice(ctx, code.Hash())
		if claudehub.CodeOf(err) == claudehub.NotFound {
			refused = errDeviceOver()
			return nil
		} else if err != nil {
			return err
		}
		if d.State == store.DeviceApproved && d.Expires.After(f.now()) {
			out, runner, refused, err = f.grant(ctx, q, d)
			return err
		}
		refused, err = f.waitMore(ctx, q, d)
		return err
	})
	switch {
	case err != nil:
		return wire.DeviceToken{}, err
	case refused != nil:
		return wire.DeviceToken{}, refused
	}
	if runner != nil {
		// Whatever had the token before has it no more.
		f.tell(runner.ID, Revoked, nil)
		f.runnerChanged(*runner)
	}
	return out, nil
}

// waitMore says why there is no token. Who asks again too early waits five seconds longer from then on.
func (f *Fleet) waitMore(ctx context.Context, q store.Q, d store.Device) (*DeviceError, error) {
	now := f.now()
	switch {
	case !d.Expires.After(now) || d.State == store.DeviceUsed:
		return errDeviceOver(), nil
	case d.State == store.DeviceDenied:
		return pollError(wire.DeviceDenied, claudehub.Forbidden, "The request was declined in the Hub."), nil
	}
	early := !d.Polled.IsZero() && now.Sub(d.Polled) < d.Wait
	if d.Polled = now; early {
		d.Wait += deviceSlower
	}
	if err := q.SetPolled(ctx, d); err != nil {
		return nil, err
	}
	if early {
		return pollError(wire.DeviceSlow, claudehub.TooMany, "That was too early. Wait %d seconds between two polls from now on.", int(d.Wait.Seconds())), nil
	}
	return pollError(wire.DevicePending, claudehub.Conflict, "Nobody has approved this device yet."), nil
}

// grant makes what an approved device gets, for a person who may still be here.
func (f *Fleet) grant(ctx context.Context, q store.Q, d store.Device) (out wire.DeviceToken, runner *claudehub.Runner, refused *DeviceError, err error) {
	p, err := q.Person(ctx, d.Person)
	if err != nil {
		return out, nil, nil, err
	}
	if f.mayEnter(p) != nil {
		return out, nil, pollError(wire.DeviceDenied, claudehub.Forbidden, "The request was declined in the Hub."), nil
	}
	if err := q.UseDevice(ctx, d.Hash, f.now()); err != nil {
		if claudehub.CodeOf(err) == claudehub.NotFound {
			return out, nil, errDeviceOver(), nil
		}
		return out, nil, nil, err
	}
	ctx = asActor(ctx, p.ID)
	var token claudehub.Token
	if d.Client == wire.DeviceCLI {
		t := claudehub.APIToken{Name: d.Name, Scopes: slices.Clone(claudehub.Scopes), Expires: f.now().Add(cliTokenLife)}
		_, token, err = f.addToken(ctx, q, p.ID, t)
		return wire.DeviceToken{Token: token.Reveal(), Login: p.Login, Name: d.Name}, nil, nil, err
	}
	r, token, err := f.pair(ctx, q, p.ID, d)
	return wire.DeviceToken{Token: token.Reveal(), Login: p.Login, Runner: string(r.ID), Name: r.Name}, &r, nil, err
}

// pair makes a Runner, or gives one that was lost, revoked or signed out its next life, with its Sessions.
func (f *Fleet) pair(ctx context.Context, q store.Q, p claudehub.PersonID, d store.Device) (claudehub.Runner, claudehub.Token, error) {
	token, now := claudehub.NewToken(claudehub.RunnerToken), f.now()
	old, again, err := f.takesUp(ctx, q, p, d)
	if err != nil {
		return old.Runner, token, err
	}
	if again {
		if old, err = lockRunner(ctx, q, p, old.ID); err != nil {
			return old.Runner, token, err
		}
		if err := q.SetRunnerToken(ctx, old.ID, token.Hash()); err != nil {
			return old.Runner, token, err
		}
		old.Revoked = time.Time{}
		return old.Runner, token, f.note(ctx, q, "runner.token", string(old.ID), map[string]string{"name": old.Name, "owner": string(p), "machine": d.Machine})
	}
	name, err := freeName(ctx, q, p, d.Name)
	if err != nil {
		return claudehub.Runner{}, token, err
	}
	r := newRunner(p, name, now)
	if err := q.AddRunner(ctx, r, token.Hash()); err != nil {
		return r, token, err
	}
	return r, token, f.note(ctx, q, "runner.add", string(r.ID), map[string]string{"name": name, "owner": string(p), "machine": d.Machine})
}

// freeName appends a number to a name that one of the person's Runners has.
func freeName(ctx context.Context, q store.Q, p claudehub.PersonID, name string) (string, error) {
	all, err := q.Runners(ctx, p)
	if err != nil {
		return "", err
	}
	taken := make(map[string]bool, len(all))
	for _, r := range all {
		taken[r.Name] = true
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s %d", name, n)
	}
	return free, nil
}
