//go:build linux

package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/standin/anthropic"
	"claude-hub/internal/wire"
)

const chat = `{"rules": [{"name": "wait", "contains": "wait for me", "steps": [{"say": "Waiting."}, {"hang": "gate"}, {"say": "Done."}]}],
	"default": [{"say": "you said: ${prompt}"}]}`

// asked tells how often a text was sent to Anthropic in one conversation.
func asked(s *anthropic.Server, text string) int {
	for _, p := range s.Log().Prompts {
		if p.Text == text {
			return p.Occurrences
		}
	}
	return 0
}

// TestPromptIsSentOnceAcrossRestarts ends the Runner at each stage of a prompt, with the real Claude Code: each prompt
// is answered once, and each step of it is reported once.
func TestPromptIsSentOnceAcrossRestarts(t *testing.T) {
	c := newComputer(t)
	server := c.withClaude(chat)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	for _, at := range []Stage{StageReceived, StagePasting, StageEntering, StageAccepted, StageOver} {
		text := fmt.Sprintf("The Runner ends when this is %s, wait for me.", at)
		p := c.hub.prompt(id, text)
		until(t, "prompt is "+string(at), func() bool {
			// So that the last stage can be reached, and the one before lasts long enough to be seen.
			if at == StageOver {
				server.Release("gate")
			}
			return slices.Index(stages, c.onDisk()[p]) >= slices.Index(stages, at)
		})
		c.kill()
		c.start()
		for range 3 {
			server.Release("gate")
		}
		c.hub.awaitPrompt(t, p, claudehub.PromptDone)
		if n := asked(server, text); n != 1 {
			t.Errorf("ended at %s: Claude got it %d times", at, n)
		}
		c.hub.mu.Lock()
		got := c.hub.statesLocked(p)
		c.hub.mu.Unlock()
		if want := []claudehub.PromptState{claudehub.PromptDelivered, claudehub.PromptAccepted, claudehub.PromptDone}; !slices.Equal(got, want) {
			t.Errorf("ended at %s: reported %v", at, got)
		}
	}
	if f := server.Log().Failures; len(f) != 0 {
		t.Errorf("the stand-in complains: %v", f)
	}
}

var stages = []Stage{"", StageReceived, StagePasting, StageEntering, StageAccepted, StageOver}

// onDisk returns the stages of all prompts as a Runner that starts now would find them.
func (c *computer) onDisk() map[claudehub.PromptID]Stage {
	c.t.Helper()
	var rows []Entry
	if err := c.state.db.SelectContext(c.t.Context(), &rows, "SELECT id, stage, life, n FROM prompts"); err != nil {
		c.t.Fatal(err)
	}
	all := map[claudehub.PromptID]Stage{}
	for _, r := range rows {
		all[r.ID] = r.Stage
	}
	return all
}

// TestChangesWaitForTheTurn: neither another model nor a Stop for what went before cuts a Turn that it is not meant for.
func TestChangesWaitForTheTurn(t *testing.T) {
	c := newComputer(t)
	server := c.withClaude(chat)
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Model = "sonnet" })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	first := c.hub.prompt(id, "first, wait for me")
	c.hub.awaitPrompt(t, first, claudehub.PromptAccepted)
	life := c.life(id)
	// All at once: another model, and a Stop, of a Hub whose clock is behind, with a prompt after it.
	last := queued("last")
	c.hub.wish(id, func(d *wire.DesiredSession) {
		d.Model = "opus"
		d.Generation++
		d.StopAt = now().Add(-1000000000000)
		last.Author = d.Creator
		d.Prompts = append(d.Prompts, last)
	})
	c.hub.awaitPrompt(t, first, claudehub.PromptDone) // interrupted: the gate was never opened
	c.hub.awaitPrompt(t, last.ID, claudehub.PromptDone)
	if n := asked(server, "last"); n != 1 {
		t.Errorf("Claude got the last prompt %d times", n)
	}
	if c.life(id) == life {
		t.Error("the other model was not taken")
	}
	o := c.hub.await(t, id, "the new generation", func(o claudehub.Observed) bool { return o.Generation == 2 })
	if o.Phase != claudehub.PhaseAwake {
		t.Errorf("the Session is %s", o.Phase)
	}
}

// TestCancelledPromptLeavesTheBox: one that is cancelled when its text stands in Claude's input box, with Enter not
// pressed, is never sent, and does not stand in the way of the next.
func TestCancelledPromptLeavesTheBox(t *testing.T) {
	c := newComputer(t)
	server := c.withClaude(chat)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	// Held right before Enter, which is written down first.
	_, err := c.state.db.ExecContext(t.Context(),
		`CREATE TRIGGER held BEFORE UPDATE ON prompts WHEN NEW.stage = 'entering' BEGIN SELECT RAISE(ABORT, 'held'); END`)
	if err != nil {
		t.Fatal(err)
	}
	const text = "first line\nsecond line, never to be sent"
	p := c.hub.prompt(id, text)
	box := func() string { return c.run(id, "tmux -S "+socket(c.life(id))+" capture-pane -p") }
	until(t, "its text stands in the box", func() bool { return strings.Contains(box(), "never to be sent") })
	until(t, "Enter was held", func() bool { return strings.Count(c.log.text(), "held") >= 2 })
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Prompts = nil })
	until(t, "the box is empty", func() bool { return !strings.Contains(box(), "never to be sent") })
	if _, err := c.state.db.ExecContext(t.Context(), "DROP TRIGGER held"); err != nil {
		t.Fatal(err)
	}
	next := c.hub.prompt(id, "next")
	c.hub.awaitPrompt(t, next, claudehub.PromptDone)
	if asked(server, text) != 0 || asked(server, "next") != 1 {
		t.Errorf("Claude got %+v", server.Log().Prompts)
	}
	if got := c.onDisk()[p]; got != StageOver {
		t.Errorf("the cancelled prompt is %s", got)
	}
}
