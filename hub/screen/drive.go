package screen

import (
	"context"
	"encoding/base64"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var errWatching = claudehub.Errorf(claudehub.Forbidden, "You watch this Session. Only its Creator can type.")

// Resize takes a new window size. It reaches the Runner only from the size owner.
func (v *Viewer) Resize(cols, rows int) error {
	if err := claudehub.ValidSize(cols, rows); err != nil {
		return err
	}
	f := v.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	v.cols, v.rows = cols, rows
	switch {
	case f.owner == v:
		f.resize = true
		f.poke()
	case f.owner == nil && v.who.Drive:
		f.ownLocked(v)
	}
	return nil
}

// Claim makes this terminal's size the one in force.
func (v *Viewer) Claim() error {
	if !v.who.Drive {
		return errWatching
	}
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	v.feed.ownLocked(v)
	return nil
}

// Input hands keys or a paste to the Runner, and tells the terminal what became of it. Typing claims the size.
func (v *Viewer) Input(ctx context.Context, up wire.TerminalUp) {
	in, state, err := v.check(up)
	if err == nil {
		state = wire.InputDelivered
		if err = v.feed.feeds.opt.Fleet.SendInput(ctx, v.who.Person, in); err != nil {
			state = wire.InputRefused
		}
	}
	r := wire.InputReport{Terminal: v.who.Terminal, Life: up.Life, N: up.N, State: state}
	if err != nil {
		r.Why = claudehub.MessageOf(err)
	}
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	v.reportLocked(r)
}

func (v *Viewer) check(up wire.TerminalUp) (wire.Input, wire.InputState, error) {
	if !v.who.Drive {
		return wire.Input{}, wire.InputRefused, errWatching
	}
	data, err := inputData(up)
	if err != nil {
		return wire.Input{}, wire.InputRefused, err
	}
	if up.N == 0 || len(up.Life) != wire.LifeLen {
		return wire.Input{}, wire.InputRefused, claudehub.Errorf(claudehub.Invalid, "Input needs its number, from 1 on, and the life of the terminal it is for.")
	}
	v.feed.mu.Lock()
	defer v.feed.mu.Unlock()
	if v.feed.life != "" && up.Life != v.feed.life {
		return wire.Input{}, wire.InputExpired, claudehub.Errorf(claudehub.Expired, "Not sent: the terminal was restarted.")
	}
	v.feed.ownLocked(v)
	return wire.Input{
		Session: v.feed.session, Author: v.who.Person, Terminal: v.who.Terminal, Life: up.Life, N: up.N,
		Kind: wire.InputKind(up.Type), Data: data,
	}, "", nil
}

func inputData(up wire.TerminalUp) ([]byte, error) {
	switch wire.InputKind(up.Type) {
	case wire.InputKeys:
		b, err := base64.StdEncoding.DecodeString(up.Data)
		switch {
		case err != nil:
			return nil, claudehub.Errorf(claudehub.Invalid, "Those keys are not valid base64.")
		case len(b) == 0 || len(b) > claudehub.MaxKeys:
			return nil, claudehub.Errorf(claudehub.TooLarge, "One message has 1 to %d bytes of keys.", claudehub.MaxKeys)
		}
		return b, nil
	case wire.InputPaste:
		if len(up.Data) == 0 || len(up.Data) > claudehub.MaxPaste {
			return nil, claudehub.Errorf(claudehub.TooLarge,
				"The paste has %d KB; the most that can be sent is %d KB. Put it in a file of the workspace.",
				len(up.Data)>>10, claudehub.MaxPaste>>10)
		}
		return []byte(up.Data), nil
	}
	return nil, claudehub.Errorf(claudehub.Invalid, "That is neither keys nor a paste.")
}
