//go:build linux

package promises_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/claude/claudetest"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/standin/anthropic"
)

// TestHubOutageDoesNotStopASession is promise 9: the Hub is killed in the middle of a Turn; the Turn goes on to its end;
// when the Hub is back it learns of everything, once.
func TestHubOutageDoesNotStopASession(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := newScene(ctx, claudetest.Program(t))
	if s != nil {
		t.Cleanup(func() {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	const prompt = "Please take your time."
	made, err := s.NewSession(ctx, "Outage", prompt)
	if err != nil {
		t.Fatal(err, s.Log("runner"))
	}
	s.session = made.ID
	if err := s.prompts(ctx, claudehub.PromptAccepted); err != nil {
		t.Fatal(err)
	}
	s.awaitStandIn(ctx, t, "the Turn hangs", func(l anthropic.Log) bool { return len(l.Hanging) > 0 })
	if err := s.KillHub(); err != nil {
		t.Fatal(err)
	}
	s.release(ctx, t)
	for !strings.Contains(string(s.inSandbox(t, `tmux -S /tmp/claude-hub-* capture-pane -p`)), "That took a while.") {
		select {
		case <-ctx.Done():
			t.Fatal("the Turn does not end while the Hub is away")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := s.StartHub(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.prompts(ctx, claudehub.PromptDone); err != nil {
		t.Fatal(err, s.Log("runner"))
	}
	if _, err := s.Await(ctx, s.session, func(o claudehub.Session) bool { return o.Observed.Activity == claudehub.Ready }); err != nil {
		t.Error(err)
	}
	var history struct {
		Items []struct{ Kind, Text string }
	}
	if err := s.Get(ctx, s.path("history"), &history); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range history.Items {
		count[e.Kind]++
	}
	if count["turn_started"] != 1 || count["turn_ended"] != 1 {
		t.Errorf("the history has %+v", history.Items)
	}
	s.awaitStandIn(ctx, t, "the prompt was sent once", func(l anthropic.Log) bool {
		return len(l.Prompts) == 1 && l.Prompts[0].Occurrences == 1 && l.Prompts[0].Text == prompt && len(l.Failures) == 0
	})
}

func (s *scene) awaitStandIn(ctx context.Context, t *testing.T, what string, wanted func(anthropic.Log) bool) {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.StandInURL()+"/standin/log", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var l anthropic.Log
		err = json.NewDecoder(resp.Body).Decode(&l)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if wanted(l) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not seen at the stand-in: %s: %+v", what, l)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// release lets the hanging answer go on.
func (s *scene) release(ctx context.Context, t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.StandInURL()+"/standin/release?name=gate", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Fatalf("release: %s", resp.Status)
	}
}
