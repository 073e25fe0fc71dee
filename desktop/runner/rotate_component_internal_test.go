//go:build linux

package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/keychain"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// newPairedComputer is one whose Runner has its token in files, and rotates it as fast as it can when it is told to.
func newPairedComputer(t *testing.T, life time.Duration) *computer {
	t.Helper()
	c := newComputer(t)
	keys, err := keychain.Open(t.Context(), keychain.Options{Dir: c.cfg.Dir + "/keys", Scope: c.cfg.Dir})
	if err != nil {
		t.Fatal(err)
	}
	c.pairing = NewPairingStore(c.cfg.Dir, keys)
	if err := c.pairing.Keep(t.Context(), Pairing{Hub: c.hub.URL, Since: now()}, c.hub.token); err != nil {
		t.Fatal(err)
	}
	c.adjust = func(r *Runner) {
		r.tokens.life, r.tokens.rest, r.tokens.look = life, time.Nanosecond, 10*time.Millisecond
	}
	return c
}

// TestRotationDropsNoInput: while the token changes again and again, every key arrives once and in order, is answered, and
// the stream that brings them stays open.
func TestRotationDropsNoInput(t *testing.T) {
	c := newPairedComputer(t, 0)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed", Snapshot: true})
	life := c.hub.screenOf(t, "prompt", func(s string) bool { return strings.Contains(s, "$") })
	creator := c.hub.wishes[id].Creator
	_, before, _ := c.hub.rules.counts()
	n, want := 0, ""
	for used := before; used < before+10 || n < 50; _, used, _ = c.hub.rules.counts() {
		n++
		want += fmt.Sprintf("%d\n", n)
		c.hub.say(wire.EventInput, wire.Input{
			Session: id, Author: creator, Terminal: "tab", Life: life, N: uint64(n), Kind: wire.InputKeys, Data: fmt.Appendf(nil, "echo %d >> /workspace/out\r", n),
		})
		if n%10 == 0 {
			if r := c.hub.reportOf(t, "tab", uint64(n)); r.State != wire.InputApplied {
				t.Fatalf("input %d: %+v", n, r)
			}
		}
		if n > 5000 {
			t.Fatalf("only %d rotations", used-before)
		}
	}
	until(t, "all was typed", func() bool { return strings.Contains(c.run(id, "cat /workspace/out"), fmt.Sprint(n)) })
	if got := c.run(id, "cat /workspace/out"); got != strings.TrimSpace(want) {
		t.Errorf("typed: %q", got)
	}
	if ups := strings.Count(c.log.text(), `msg="link to the Hub" up=true`); ups != 1 {
		t.Errorf("the stream was opened %d times", ups)
	}
}

// TestRevokedRunnerGoesOn: the link ends and is left alone, what to do is said in the log and on the disk, and the Session
// is tended on: a Claude that ends is brought back. Pairing again, while it runs, is all that it takes.
func TestRevokedRunnerGoesOn(t *testing.T) {
	c := newPairedComputer(t, time.Hour)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	before := c.life(id)
	c.hub.rules.revoke()
	c.hub.say(wire.EventRevoked, struct{}{})
	until(t, "it is said", func() bool {
		_, is, err := c.pairing.Refused(t.Context())
		return err == nil && is
	})
	c.hub.told(t, "the stream has ended", func() bool { return len(c.hub.streams) == 0 })
	said, _, err := c.pairing.Refused(t.Context())
	if err != nil || said.Why == "" || said.At.IsZero() {
		t.Errorf("said on the disk: %+v, %v", said, err)
	}
	if log := c.log.text(); !strings.Contains(log, "Pair this Runner again: claude-hub-runner pair --hub "+c.hub.URL) {
		t.Error("the log does not say what to do")
	}
	_, _, denied := c.hub.rules.counts()
	c.run(id, "tmux -S "+socket(before)+" kill-server")
	until(t, "its terminal is back", func() bool { return c.life(id) != "" && c.life(id) != before })
	if _, _, after := c.hub.rules.counts(); after > denied+1 { // one request may have been under way
		t.Errorf("the Hub was asked %d times more", after-denied)
	}
	life := c.life(id)
	if err := c.pairing.Keep(t.Context(), Pairing{Hub: c.hub.URL, Since: now()}, c.hub.rules.enrol()); err != nil {
		t.Fatal(err)
	}
	c.hub.told(t, "the link", func() bool { return len(c.hub.streams) > 0 })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if c.life(id) != life {
		t.Error("the Session was started anew")
	}
	if _, is, err := c.pairing.Refused(t.Context()); is || err != nil {
		t.Errorf("it is still said to be refused: %v", err)
	}
}

// TestPairedWithAnother: a pairing that is given up, or goes to another Hub, ends the link of the Runner that runs; the
// other Hub never sees its token or its Sessions.
func TestPairedWithAnother(t *testing.T) {
	c := newPairedComputer(t, time.Hour)
	c.start()
	c.hub.told(t, "the link", func() bool { return len(c.hub.streams) > 0 })
	if err := c.pairing.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.hub.told(t, "the stream has ended", func() bool { return len(c.hub.streams) == 0 })
	if _, err := c.pairing.Read(); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("after it was given up: %v", err)
	}
	other := newFakeHub(t)
	if err := c.pairing.Keep(t.Context(), Pairing{Hub: other.URL, Since: now()}, other.token); err != nil {
		t.Fatal(err)
	}
	until(t, "it is said", func() bool { return strings.Contains(c.log.text(), "another Hub") })
	if _, _, denied := other.rules.counts(); denied != 0 || len(other.statuses) != 0 {
		t.Error("the other Hub was asked")
	}
	if err := c.pairing.Keep(t.Context(), Pairing{Hub: c.hub.URL, Since: now()}, c.hub.token); err != nil {
		t.Fatal(err)
	}
	c.hub.told(t, "the link is back", func() bool { return len(c.hub.streams) > 0 })
}
