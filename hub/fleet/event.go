package fleet

import (
	"context"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// maxEventText bounds what one event adds to a Session's history.
const maxEventText = 64 << 10

// Entry is one line of a Session's history.
type Entry struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind" enum:"turn_started,turn_ended,notice"`
	Text string    `json:"text,omitempty"`
}

// History lists the newest lines of a Session's history, the oldest of them first.
func (f *Fleet) History(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) ([]Entry, error) {
	if err := f.StillWatches(ctx, p, id); err != nil {
		return nil, err
	}
	events, err := f.st.Read().Events(ctx, id, wire.ReportPrompt, listed)
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = Entry{At: e.At, Kind: entryKind(e), Text: e.Text}
	}
	return out, err
}

func entryKind(e wire.Event) string {
	switch {
	case e.Kind != wire.ReportTurn:
		return string(e.Kind)
	case e.Ended:
		return "turn_ended"
	default:
		return "turn_started"
	}
}

// StoreEvents stores each event once and acts on it in the same transaction. All are answered as stored, also those
// that mean nothing here (of a Session that is not the Runner's, or malformed): the Runner would send them for ever.
func (f *Fleet) StoreEvents(ctx context.Context, id claudehub.RunnerID, batch wire.Events) (wire.EventsReply, error) {
	if len(batch.Events) > wire.MaxEvents {
		return wire.EventsReply{}, claudehub.Errorf(claudehub.TooLarge, "At most %d events can be sent at once.", wire.MaxEvents)
	}
	var b *batchOfEvents
	err := f.st.Write(ctx, func(q store.Q) error {
		b = &batchOfEvents{f: f, q: q, runner: id, now: f.now(), decisions: map[claudehub.SessionID]*decision{}}
		if _, err := q.LockRunner(ctx, id); err != nil {
			return absent(err, errNoRunner)
		}
		return b.store(ctx, batch.Events)
	})
	if err != nil {
		return wire.EventsReply{}, err
	}
	for _, d := range b.order {
		f.announce(d)
	}
	reply := wire.EventsReply{Stored: make([]claudehub.EventID, len(batch.Events))}
	for i, e := range batch.Events {
		reply.Stored[i] = e.ID
	}
	return reply, nil
}

// batchOfEvents is one transaction over events of several Sessions.
type batchOfEvents struct {
	f         *Fleet
	q         store.Q
	runner    claudehub.RunnerID
	now       time.Time
	decisions map[claudehub.SessionID]*decision // nil: not this Runner's
	order     []*decision
}

func (b *batchOfEvents) store(ctx context.Context, events []wire.Event) error {
	for _, e := range events {
		if !parses(claudehub.ParseEventID(string(e.ID))) {
			b.f.log.Warn("a Runner sent an event with a malformed id", "runner", b.runner)
			continue
		}
		d, err := b.session(ctx, e.Session)
		if err != nil {
			return err
		}
		if d == nil {
			b.f.log.Warn("a Runner sent an event of a Session that it does not have", "runner", b.runner, "session", clip(string(e.Session), maxLine), "event", e.ID)
			continue
		}
		if err := b.apply(ctx, d, e); err != nil {
			return err
		}
	}
	for _, d := range b.order {
		if err := d.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// session finds a Session once per batch.
func (b *batchOfEvents) session(ctx context.Context, id claudehub.SessionID) (*decision, error) {
	if d, known := b.decisions[id]; known {
		return d, nil
	}
	if !parses(claudehub.ParseSessionID(string(id))) {
		return nil, nil
	}
	s, err := b.q.Session(ctx, id)
	if err == nil {
		err = runs(b.runner, s)
	}
	switch {
	case claudehub.CodeOf(err) == claudehub.NotFound:
		b.decisions[id] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	d := &decision{q: b.q, s: s, now: b.now}
	b.decisions[id] = d
	b.order = append(b.order, d)
	return d, nil
}

func (b *batchOfEvents) apply(ctx context.Context, d *decision, e wire.Event) error {
	e.At = store.Round(e.At)
	if e.Kind == wire.ReportDevcontainer {
		return b.applyDevcontainer(ctx, d, e)
	}
	e.Text = clip(e.Text, maxEventText)
	switch e.Kind {
	case wire.ReportPrompt:
		return b.applyPrompt(ctx, d, e)
	case wire.ReportTurn, wire.ReportNotice:
		e.Prompt, e.State = "", ""
		_, err := b.q.AddEvent(ctx, e, b.now)
		return err
	}
	b.f.log.Warn("a Runner sent an event of a kind that this Hub does not know", "runner", b.runner, "event", e.ID)
	return nil
}

func (b *batchOfEvents) applyPrompt(ctx context.Context, d *decision, e wire.Event) error {
	if !parses(claudehub.ParsePromptID(string(e.Prompt))) || !reportable(e.State) {
		b.f.log.Warn("a Runner sent a malformed event of a prompt", "runner", b.runner, "event", e.ID)
		return nil
	}
	p, err := b.q.Prompt(ctx, d.s.ID, e.Prompt)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		b.f.log.Warn("a Runner sent an event of a prompt that is not in its Session", "runner", b.runner, "event", e.ID)
		return nil
	}
	if err != nil {
		return err
	}
	// Once: a state that is told again, later than its successor, would take the prompt back.
	first, err := b.q.AddEvent(ctx, e, b.now)
	if err != nil || !first {
		return err
	}
	why := ""
	if e.State.Final() && e.State != claudehub.PromptDone {
		why = e.Text
	}
	return d.setPrompt(ctx, p, e.State, why)
}

func parses[ID any](_ ID, err error) bool { return err == nil }

// reportable: queued is the Hub's own word.
func reportable(s claudehub.PromptState) bool {
	return s == claudehub.PromptDelivered || s == claudehub.PromptAccepted || s.Final()
}
