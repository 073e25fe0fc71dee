package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestAgreed(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \n": true, "\n": false, "no\n": false, "yes please\n": false, "y": false, "": false} {
		var asked bytes.Buffer
		if got := agreed(strings.NewReader(answer), &asked, "Really?"); got != want {
			t.Errorf("%q: %v", answer, got)
		}
		if asked.String() != "Really? [y/N] " {
			t.Errorf("it asked %q", asked.String())
		}
	}
}

// checked is a Backend of which only the doctor matters.
type checked struct{ sandbox.Backend }

func (checked) Check(context.Context) []sandbox.Finding {
	return []sandbox.Finding{{Name: "first", OK: true, Detail: "fine"}}
}

func TestTheHintStopsNothing(t *testing.T) {
	found := hinted{checked{}, possible(claudehub.Errorf(claudehub.Unavailable, "No KVM."))}.Check(t.Context())
	if len(found) != 2 || found[0].Name != "first" {
		t.Fatalf("got %+v", found)
	}
	if h := found[1]; h.OK || h.Fatal || !strings.Contains(h.Detail, "No KVM.") || h.Fix == "" {
		t.Errorf("got %+v", h)
	}
}
