package runner

import (
	"context"
	"slices"
	"strings"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// promptTerminal is the name under which tmux remembers which of the Runner's own inputs it took.
const promptTerminal = "hub-prompts"

// Times of writing a prompt, from what was seen of Claude Code (package mod): the box shows a long paste late, and an Enter
// before that, or within a second of Claude's start, is swallowed.
const (
	settleTime = 1500 * time.Millisecond // from Claude's prompt to the first paste
	pasteTime  = 30 * time.Second        // for a paste to show
	writeTime  = 20 * time.Second        // for tmux to take it
	enterTime  = 2 * time.Second         // for Claude to report the prompt, before Enter is pressed again
	maxEnters  = 8
)

// promptEvent reports how far a prompt came.
func (s *session) promptEvent(id claudehub.PromptID, state claudehub.PromptState, why string) *wire.Event {
	return &wire.Event{
		ID: claudehub.NewEventID(), Session: s.id, Kind: wire.ReportPrompt, At: now(), Prompt: id, State: state, Text: why,
	}
}

// notTheCreators is what becomes of a prompt that somebody else wrote.
const notTheCreators = "Only the Creator of this Session sends prompts to it. The Runner did not take this one."

// receivePrompts writes the queue down, before the Hub is told that it was delivered.
func (s *session) receivePrompts(ctx context.Context, d wire.DesiredSession) {
	known, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not received", "error", err)
		return
	}
	for _, p := range d.Prompts {
		if _, ok := known[p.ID]; ok || p.State.Final() {
			continue
		}
		e, report := Entry{ID: p.ID, Stage: StageReceived}, s.promptEvent(p.ID, claudehub.PromptDelivered, "")
		switch {
		case !s.mayDrive(p.Author):
			e.Stage, report = StageOver, s.promptEvent(p.ID, claudehub.PromptFailed, notTheCreators)
		case p.State != claudehub.PromptQueued:
			// The Hub knows from this Runner how far it came, and the Runner does not: its memory was lost.
			e.Stage, report = StageOver, s.promptEvent(p.ID, claudehub.PromptFailed,
				"The Runner lost its memory while it had this prompt, which Claude may or may not have got. Look at the conversation before you send it again.")
		}
		moved, err := s.on.state.Advance(ctx, s.id, e, report)
		if err != nil {
			s.log.Error("prompt not received", "prompt", p.ID, "error", err)
			return
		}
		if moved && !s.mayDrive(p.Author) {
			s.on.refused.note(s.id, drivingPrompt)
		}
		s.on.outbox.set()
	}
	s.dropCancelled(ctx, d, known)
}

// dropCancelled takes prompts that the Hub no longer names, and that were not begun, out of the ledger.
func (s *session) dropCancelled(ctx context.Context, d wire.DesiredSession, known map[claudehub.PromptID]Entry) {
	for id, e := range known {
		named := slices.ContainsFunc(d.Prompts, func(p claudehub.Prompt) bool { return p.ID == id })
		if e.Stage == StageReceived && !named {
			s.advance(ctx, e, StageOver, "", "")
		}
	}
}

// advance moves a prompt along and tells the Hub. It answers false when that could not be written down: an act that
// must not happen twice is then not done.
func (s *session) advance(ctx context.Context, e Entry, to Stage, state claudehub.PromptState, why string) bool {
	e.Stage = to
	var report *wire.Event
	if state != "" {
		report = s.promptEvent(e.ID, state, why)
	}
	if _, err := s.on.state.Advance(ctx, s.id, e, report); err != nil {
		s.log.Error("prompt's stage not written", "prompt", e.ID, "stage", to, "error", err)
		return false
	}
	s.on.outbox.set()
	return true
}

// inFlight returns the prompt that is between its paste and Claude's word that it has it, named by the Hub or not.
func (s *session) inFlight(ctx context.Context) (Entry, bool) {
	ledger, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not read", "error", err)
		return Entry{}, false
	}
	for _, e := range ledger {
		if e.Stage == StagePasting || e.Stage == StageEntering {
			return e, true
		}
	}
	return Entry{}, false
}

// named tells whether the Hub still wants a prompt sent, as the Creator's.
func (s *session) named(id claudehub.PromptID) bool {
	return slices.ContainsFunc(s.wanted().Prompts, func(p claudehub.Prompt) bool {
		return p.ID == id && !p.State.Final() && s.mayDrive(p.Author)
	})
}

// nextPrompt returns the first prompt of the queue that is not over, with its ledger line. A prompt past its time is
// expired on the way, unless it may have reached Claude.
func (s *session) nextPrompt(ctx context.Context) (claudehub.Prompt, Entry, bool) {
	ledger, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not read", "error", err)
		return claudehub.Prompt{}, Entry{}, false
	}
	for _, p := range s.wanted().Prompts {
		e, ok := ledger[p.ID]
		if !ok {
			continue // over, or not received
		}
		if e.Stage == StageReceived && !s.mayDrive(p.Author) { // it was the Creator's when it came
			s.on.refused.note(s.id, drivingPrompt)
			s.advance(ctx, e, StageOver, claudehub.PromptFailed, notTheCreators)
			continue
		}
		if e.Stage == StageReceived && now().After(p.Expires) {
			s.advance(ctx, e, StageOver, claudehub.PromptExpired, "It waited longer than it may. Send it again if you still want it.")
			continue
		}
		return p, e, true
	}
	return claudehub.Prompt{}, Entry{}, false
}

// deliver writes the next prompt, when Claude is at its prompt with an empty input box. Each act is written down before
// it is done, so that a Runner killed in between knows what may have happened, and never does it twice.
func (s *session) deliver(ctx context.Context, seat *seat, screenIdle bool) {
	if s.wanted().StopAt.After(s.facts().StopAt) {
		return // what runs is interrupted first, or this prompt's Turn would be
	}
	if e, ok := s.inFlight(ctx); ok && !s.named(e.ID) {
		s.takeBack(ctx, seat, e)
		return
	}
	p, e, ok := s.nextPrompt(ctx)
	if !ok {
		return
	}
	switch e.Stage {
	case StageReceived:
		if !screenIdle {
			return
		}
		n, err := seat.nextInput(ctx)
		if err != nil {
			s.log.Warn("prompt waits", "error", err)
			return
		}
		e.Life, e.N = seat.life, n
		if !s.advance(ctx, e, StagePasting, "", "") {
			return
		}
		s.paste(ctx, seat, p, e)
	case StagePasting:
		s.resumePaste(ctx, seat, p, e)
	}
}

// paste writes the text of a prompt, whose entry says so already, and submits it.
func (s *session) paste(ctx context.Context, seat *seat, p claudehub.Prompt, e Entry) {
	write, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := seat.term.Paste(write, promptTerminal, e.N, []byte(p.Text)); err != nil {
		s.log.Warn("prompt not pasted", "prompt", p.ID, "error", err)
		return // StagePasting is resolved at the next look
	}
	s.enter(ctx, seat, e)
}

// enter submits what was pasted, as a keystroke of its own. A prompt that is cancelled until then is not submitted.
func (s *session) enter(ctx context.Context, seat *seat, e Entry) {
	switch shows, late := seat.pasted(ctx, s.on.pasteTime, func() bool { return s.named(e.ID) }); {
	case late:
		s.advance(ctx, e, StageOver, claudehub.PromptFailed,
			"Claude did not show the text of this prompt, so Enter was not pressed. Look at the terminal, then send it again.")
		return
	case !shows:
		return // StagePasting is resolved at the next look
	}
	if !s.advance(ctx, e, StageEntering, "", "") {
		return
	}
	write, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if err := seat.term.Keys(write, promptTerminal, e.N+1, []byte("\r")); err != nil {
		s.log.Warn("prompt not entered", "prompt", e.ID, "error", err)
	}
	seat.entered, seat.enters = time.Now(), 1
}

// pasted waits until the pasted text shows in Claude's input box, while the prompt is wanted and the terminal lives. It
// answers late when the text had all its time.
func (t *seat) pasted(ctx context.Context, most time.Duration, wanted func() bool) (shows, late bool) {
	limit := time.Now().Add(most)
	for ctx.Err() == nil && !t.over() && wanted() {
		text, err := t.text(ctx)
		if err == nil {
			if screen := claude.ReadScreen(text); screen.Box && !screen.InputEmpty {
				return wanted(), false
			}
		}
		if time.Now().After(limit) {
			return false, err == nil && ctx.Err() == nil
		}
		newSignal().wait(ctx, 50*time.Millisecond)
	}
	return false, false
}

// takeBack ends a prompt that was cancelled when its text was in the input box and Enter was not pressed: the text is
// taken out again. One whose Enter was pressed is left to chase.
func (s *session) takeBack(ctx context.Context, seat *seat, e Entry) {
	if e.Stage != StagePasting {
		return
	}
	if e.Life == seat.life {
		text, err := seat.text(ctx)
		if err != nil {
			return // at the next look
		}
		if screen := claude.ReadScreen(text); screen.Box && !screen.InputEmpty {
			if err := seat.press(ctx, "\x03"); err != nil { // Claude Code empties its box
				s.log.Warn("cancelled prompt not taken back", "prompt", e.ID, "error", err)
				return
			}
		}
	}
	s.advance(ctx, e, StageOver, "", "")
}

// chase looks after a prompt whose Enter was pressed and which Claude has not reported. While its text stands in the
// input box, Enter was swallowed and is pressed again. When the box is empty Claude has it, report or not.
func (s *session) chase(ctx context.Context, seat *seat) {
	e, ok := s.inFlight(ctx)
	if !ok || e.Stage != StageEntering {
		return
	}
	if seat.entered.IsZero() {
		seat.entered = time.Now() // by a Runner process before this one
	}
	since := time.Since(seat.entered)
	if since < enterTime {
		return
	}
	text, err := seat.text(ctx)
	screen := claude.ReadScreen(text)
	if err != nil || !screen.Box {
		return
	}
	switch {
	case screen.InputEmpty && screen.AtPrompt && since < silentTime && !s.commands(e.ID):
		// Its Turn will be reported. Only a command may have been carried out without one.
	case screen.InputEmpty:
		s.advance(ctx, e, StageAccepted, claudehub.PromptAccepted, "")
		if screen.AtPrompt {
			s.turnEnded(ctx, "")
		}
	case seat.enters < maxEnters:
		seat.entered = time.Now()
		seat.enters++
		if err := seat.press(ctx, "\r"); err != nil {
			s.log.Warn("Enter not pressed again", "error", err)
		}
	default:
		s.advance(ctx, e, StageOver, claudehub.PromptFailed, "Claude did not take this prompt. Its text may stand in the input box of the terminal.")
	}
}

// commands tells whether a prompt is a command of Claude Code.
func (s *session) commands(id claudehub.PromptID) bool {
	return slices.ContainsFunc(s.wanted().Prompts, func(p claudehub.Prompt) bool { return p.ID == id && strings.HasPrefix(p.Text, "/") })
}

// resumePaste goes on with a prompt whose writing was cut off. tmux remembers what it took, as long as it lives; with a
// new tmux the text is gone from the input box, and Enter had not been pressed: it may be written again.
func (s *session) resumePaste(ctx context.Context, seat *seat, p claudehub.Prompt, e Entry) {
	if e.Life != seat.life {
		s.advance(ctx, Entry{ID: e.ID}, StageReceived, "", "")
		return
	}
	applied, err := seat.lastInput(ctx)
	switch {
	case err != nil:
		s.log.Warn("prompt waits", "error", err)
	case applied < e.N:
		s.paste(ctx, seat, p, e)
	default:
		s.enter(ctx, seat, e)
	}
}

// accepted matches Claude's report of a prompt with the one that was entered. What a person typed matches none.
func (s *session) accepted(ctx context.Context, text string) {
	p, e, ok := s.nextPrompt(ctx)
	if !ok || e.Stage != StageEntering && e.Stage != StagePasting {
		return
	}
	if !sameText(text, p.Text) {
		return
	}
	s.advance(ctx, e, StageAccepted, claudehub.PromptAccepted, "")
}

// turnEnded closes the prompt whose Turn it was.
func (s *session) turnEnded(ctx context.Context, why string) {
	s.turnEndedAt = time.Now()
	ledger, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not read", "error", err)
		return
	}
	for _, e := range ledger {
		if e.Stage == StageAccepted {
			s.advance(ctx, e, StageOver, claudehub.PromptDone, why)
		}
	}
}

// settle decides what becomes of prompts that were on their way when Claude ended. One that Claude had taken is over,
// with its Turn cut short; one whose text was in the input box, with Enter not pressed, may be written again; one that may
// or may not have been submitted is never sent again by itself.
func (s *session) settle(ctx context.Context) {
	ledger, err := s.on.state.Ledger(ctx, s.id)
	if err != nil {
		s.log.Error("prompts not read", "error", err)
		return
	}
	for _, e := range ledger {
		switch e.Stage {
		case StageAccepted:
			s.advance(ctx, e, StageOver, claudehub.PromptDone, "Claude ended during this Turn. The prompt is not sent again.")
		case StageEntering:
			s.advance(ctx, e, StageOver, claudehub.PromptFailed,
				"Claude ended while this was being sent, and did not say that it got it. Look at the conversation before you send it again.")
		case StagePasting:
			s.advance(ctx, Entry{ID: e.ID}, StageReceived, "", "")
		}
	}
}

// sameText compares a prompt with what Claude reports of it, which may be trimmed.
func sameText(a, b string) bool {
	norm := func(s string) string {
		return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
	}
	return norm(a) == norm(b)
}
