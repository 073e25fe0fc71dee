package fleet

import (
	"context"
	"slices"
	"strconv"

	"claude-hub/internal/claudehub"
)

// Forward asks for a port of the Sandbox on the Runner's machine. A Session that sleeps gets it at its next wake.
func (f *Fleet) Forward(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, port claudehub.Forward) (claudehub.Session, error) {
	if port.Port < 1 || port.Port > 65535 {
		return claudehub.Session{}, claudehub.Errorf(claudehub.Invalid, "%d is not a port: they go from 1 to 65535.", port.Port)
	}
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("forward", strconv.Itoa(port.Port))
		if err := d.usable(); err != nil {
			return err
		}
		i := slices.IndexFunc(d.s.Forwards, func(o claudehub.Forward) bool { return o.Port == port.Port })
		switch {
		case i >= 0 && d.s.Forwards[i] == port:
			return nil
		case i >= 0:
			d.s.Forwards[i] = port
		case len(d.s.Forwards) >= claudehub.MaxForwards:
			return claudehub.Errorf(claudehub.TooMany, "%d ports of this Session are forwarded, which is the most. Remove one first.", len(d.s.Forwards))
		default:
			d.s.Forwards = append(d.s.Forwards, port)
		}
		d.changed = true
		return nil
	})
}

// Unforward takes a port back; one that is not forwarded is no error.
func (f *Fleet) Unforward(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, port int) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		d.tell("unforward", strconv.Itoa(port))
		kept := slices.DeleteFunc(slices.Clone(d.s.Forwards), func(o claudehub.Forward) bool { return o.Port == port })
		if len(kept) == len(d.s.Forwards) {
			return nil
		}
		d.s.Forwards, d.changed = kept, true
		return nil
	})
}
