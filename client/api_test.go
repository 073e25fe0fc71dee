package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

func TestCalls(t *testing.T) {
	s := newStage(t)
	me, err := s.client.Me(s.ctx)
	if err != nil || me.ID != s.ann.ID {
		t.Errorf("me is %+v, %v", me, err)
	}
	runners, err := s.client.Runners(s.ctx)
	check(t, err)
	made, err := s.client.CreateSession(s.ctx, client.NewSession{Runner: runners[0].ID, Title: "one", Request: "r"})
	check(t, err)
	again, err := s.client.CreateSession(s.ctx, client.NewSession{Runner: runners[0].ID, Title: "one", Request: "r"})
	if err != nil || again.ID != made.ID {
		t.Errorf("the same request made %s and %s, %v", made.ID, again.ID, err)
	}
	p, err := s.client.AddPrompt(s.ctx, made.ID, "hello", "")
	check(t, err)
	if p, err = s.client.CancelPrompt(s.ctx, made.ID, p.ID); err != nil || p.State != claudehub.PromptCancelled {
		t.Errorf("cancelled: %+v, %v", p, err)
	}
	_, err = s.client.Session(s.ctx, "ses_/../x")
	wantCode(t, "an id that is a path", err, claudehub.NotFound)
	_, err = s.client.AddPrompt(s.ctx, made.ID, "", "")
	wantCode(t, "an empty prompt", err, claudehub.Invalid)
	s.cable.cut(true)
	_, err = s.client.Me(s.ctx)
	wantCode(t, "no Hub", err, claudehub.Unavailable)
}

func TestEventsComeBack(t *testing.T) {
	s := newStage(t)
	stop := errors.New("enough")
	ready := 0
	err := s.client.Events(s.ctx, func(e client.Event) error {
		switch {
		case e.Ready:
			if ready++; ready < 3 {
				s.cable.cut(false)
				return nil
			}
			_, err := s.Fleet.AddPrompt(s.ctx, s.ann.ID, s.sess.ID, "after the cuts", "")
			return err
		case e.Prompt != nil && e.Prompt.Text == "after the cuts":
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("it ended with %v after %d", err, ready)
	}
	check(t, s.signOutAll())
	wantCode(t, "signed out", s.client.Events(s.ctx, func(client.Event) error { return nil }), claudehub.Unauthenticated)
}

func TestAnswersThatAreNotTheHubs(t *testing.T) {
	var calls atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/api/me", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer chp_x" {
			t.Errorf("it is authorized by %q", r.Header)
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"code":"too_many","detail":"Slow \u001b[31mdown."}`))
	})
	mux.HandleFunc("/api/hub", func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		http.Redirect(w, r, "https://elsewhere.example.org/", http.StatusFound)
	})
	mux.HandleFunc("/api/runners", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	mux.HandleFunc("/api/tokens", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>secret page", http.StatusBadGateway)
	})
	hub := httptest.NewServer(mux)
	defer hub.Close()
	c, err := client.New(hub.URL, "chp_x")
	check(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err = c.Me(ctx)
	wantCode(t, "limited", err, claudehub.TooMany)
	if claudehub.MessageOf(err) != "Slow [31mdown." || client.RetryAfter(err) != time.Second {
		t.Errorf("it says %q, again in %v", claudehub.MessageOf(err), client.RetryAfter(err))
	}
	_, err = c.Hub(t.Context())
	if !strings.Contains(claudehub.MessageOf(err), "elsewhere") || calls.Load() != 1 {
		t.Errorf("a redirect: %v, %d calls", err, calls.Load())
	}
	_, err = c.Runners(t.Context())
	wantCode(t, "a page", err, claudehub.Internal)
	_, err = c.Tokens(t.Context())
	wantCode(t, "a proxy's page", err, claudehub.Unavailable)
	if strings.Contains(err.Error(), "secret page") {
		t.Errorf("it quotes a page: %v", err)
	}
	for _, bad := range []string{"", "hub", "ftp://x", "http://hub.example.org", "https://u:p@hub.example.org", "https://h/?q"} {
		if _, err := client.New(bad, ""); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q is an address: %v", bad, err)
		}
	}
}
