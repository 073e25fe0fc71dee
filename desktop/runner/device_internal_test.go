package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// deviceHub is the far end of the device flow: it answers polls from a script, and notes how long it was left alone.
type deviceHub struct {
	*httptest.Server
	mu       sync.Mutex
	answers  []func(http.ResponseWriter)
	requests []wire.DeviceRequest
	polls    []string // device codes
	code     func(n int) wire.DeviceCode
}

func newDeviceHub(t *testing.T, answers ...func(http.ResponseWriter)) *deviceHub {
	t.Helper()
	h := &deviceHub{answers: answers}
	h.code = func(n int) wire.DeviceCode {
		return wire.DeviceCode{
			DeviceCode: fmt.Sprintf("chd_%d", n), UserCode: fmt.Sprintf("BDFG-HJK%d", n), Interval: 5, ExpiresIn: 900,
			VerificationURI: h.URL + "/device", Complete: h.URL + "/device?code=x",
		}
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch r.URL.Path {
		case wire.DeviceCodePath:
			var in wire.DeviceRequest
			_ = json.NewDecoder(r.Body).Decode(&in) // what does not parse stays empty, and is seen
			h.requests = append(h.requests, in)
			_ = json.NewEncoder(w).Encode(h.code(len(h.requests)))
		case wire.DeviceTokenPath:
			var in wire.DeviceTokenRequest
			_ = json.NewDecoder(r.Body).Decode(&in)
			h.polls = append(h.polls, in.DeviceCode)
			answer := h.answers[0]
			if len(h.answers) > 1 {
				h.answers = h.answers[1:]
			}
			answer(w)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// says answers with a word of RFC 8628 in a problem document.
func says(word string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": word, "code": claudehub.Invalid, "detail": "A sentence."})
	}
}

func status(code int, retryAfter string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
	}
}

func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func approves(token claudehub.Token, id claudehub.RunnerID) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(wire.DeviceToken{Token: token.Reveal(), Runner: string(id), Login: "mona\x1b[31m", Name: "laptop"})
	}
}

// pairWith runs the flow on a clock of its own, which moves by what is waited.
func pairWith(t *testing.T, h *deviceHub) (got wire.DeviceToken, shown []string, waits []time.Duration, err error) {
	t.Helper()
	base, err := hubURL(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	f := &deviceFlow{
		base: base, client: h.Client(), now: func() time.Time { return clock },
		wait: func(_ context.Context, d time.Duration) { waits = append(waits, d); clock = clock.Add(d) },
	}
	got, err = f.run(t.Context(), PairRequest{Hub: h.URL, Name: "laptop", Again: "run_before", Show: func(c wire.DeviceCode) { shown = append(shown, c.UserCode) }})
	return got, shown, waits, err
}

func seconds(n ...int) []time.Duration {
	out := make([]time.Duration, len(n))
	for i := range n {
		out[i] = time.Duration(n[i]) * time.Second
	}
	return out
}

// TestPairing goes through the flow's answers: the pace is the Hub's, and slower when it says so or is away.
func TestPairing(t *testing.T) {
	token, id := claudehub.NewToken(claudehub.RunnerToken), claudehub.NewRunnerID()
	pending, slow := says(wire.DevicePending), says(wire.DeviceSlow)
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		waits   []time.Duration
		shown   int
		code    claudehub.Code
	}{
		"approved":            {[]func(http.ResponseWriter){pending, pending, approves(token, id)}, seconds(5, 5, 5), 1, ""},
		"slow down, for ever": {[]func(http.ResponseWriter){slow, pending, slow, pending, approves(token, id)}, seconds(5, 10, 10, 15, 15), 1, ""},
		"away for a while": {
			[]func(http.ResponseWriter){cut, status(502, ""), status(503, ""), pending, approves(token, id)}, seconds(5, 10, 20, 40, 5), 1, "",
		},
		"too many":                {[]func(http.ResponseWriter){status(429, "90"), pending, approves(token, id)}, seconds(5, 90, 5), 1, ""},
		"declined":                {[]func(http.ResponseWriter){pending, says(wire.DeviceDenied)}, seconds(5, 5), 1, claudehub.Forbidden},
		"expired, then approved":  {[]func(http.ResponseWriter){says(wire.DeviceExpired), approves(token, id)}, seconds(5, 5), 2, ""},
		"expired twice":           {[]func(http.ResponseWriter){says(wire.DeviceExpired)}, seconds(5, 5), 2, claudehub.Expired},
		"approved without token":  {[]func(http.ResponseWriter){approves(claudehub.Token{}, id)}, seconds(5), 1, claudehub.Invalid},
		"approved with a browser": {[]func(http.ResponseWriter){approves(claudehub.NewToken(claudehub.BrowserToken), id)}, seconds(5), 1, claudehub.Invalid},
		"approved without id":     {[]func(http.ResponseWriter){approves(token, "")}, seconds(5), 1, claudehub.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			h := newDeviceHub(t, c.answers...)
			got, shown, waits, err := pairWith(t, h)
			if claudehub.CodeOf(err) != c.code || err != nil && claudehub.MessageOf(err) == "" {
				t.Fatalf("got %v", err)
			}
			if err == nil && (got.Token != token.Reveal() || got.Runner != string(id) || got.Login != "mona[31m") {
				t.Errorf("got %+v", got)
			}
			if !slices.Equal(waits, c.waits) || len(shown) != c.shown {
				t.Errorf("waited %v and showed %v", waits, shown)
			}
			if r := h.requests[0]; r.Client != wire.DeviceRunner || r.Name != "laptop" || r.Again != "run_before" || !strings.Contains(r.Machine, "/") {
				t.Errorf("asked for %+v", r)
			}
			if last := h.polls[len(h.polls)-1]; last != fmt.Sprintf("chd_%d", c.shown) {
				t.Errorf("the last poll was for %s", last)
			}
			if err != nil && strings.Contains(err.Error(), "chd_") {
				t.Error("the error holds the device code")
			}
		})
	}
}

// TestCodeThatNobodySees: a Hub that only ever says that nobody has approved yet is not asked beyond the code's time.
func TestCodeThatNobodySees(t *testing.T) {
	h := newDeviceHub(t, says(wire.DevicePending))
	_, shown, waits, err := pairWith(t, h)
	if claudehub.CodeOf(err) != claudehub.Expired || len(shown) != 2 {
		t.Errorf("showed %v, %v", shown, err)
	}
	if len(waits) != 2*900/5 {
		t.Errorf("waited %d times", len(waits))
	}
}

func TestPairingEndsWhenTold(t *testing.T) {
	h := newDeviceHub(t, says(wire.DevicePending))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Pair(ctx, PairRequest{Hub: h.URL, Show: func(wire.DeviceCode) { cancel() }})
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
}

// TestCodesThatAreNotShown: what would write on the terminal what it likes, or open what is no page of a Hub.
func TestCodesThatAreNotShown(t *testing.T) {
	for name, spoil := range map[string]func(*wire.DeviceCode){
		"escape":       func(c *wire.DeviceCode) { c.UserCode = "AB\x1b[2J" },
		"long":         func(c *wire.DeviceCode) { c.UserCode = strings.Repeat("A", 500) },
		"no code":      func(c *wire.DeviceCode) { c.DeviceCode = "" },
		"program":      func(c *wire.DeviceCode) { c.VerificationURI = "file:///bin/sh" },
		"option":       func(c *wire.DeviceCode) { c.VerificationURI = "--help" },
		"in clear":     func(c *wire.DeviceCode) { c.Complete = "http://hub.example.org/device" },
		"line":         func(c *wire.DeviceCode) { c.Complete = "https://hub.example.org/\n" },
		"with a name":  func(c *wire.DeviceCode) { c.Complete = "https://a:b@hub.example.org/" },
		"no address":   func(c *wire.DeviceCode) { c.VerificationURI = "" },
		"odd in links": func(c *wire.DeviceCode) { c.Complete = "https://hub.example.org/é\u202e" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newDeviceHub(t, says(wire.DevicePending))
			good := h.code
			h.code = func(n int) wire.DeviceCode { c := good(n); spoil(&c); return c }
			_, shown, _, err := pairWith(t, h)
			if claudehub.CodeOf(err) != claudehub.Invalid || len(shown) != 0 {
				t.Errorf("showed %q, %v", shown, err)
			}
		})
	}
}

func TestPairingIsRefusedInClear(t *testing.T) {
	for _, hub := range []string{"http://hub.example.org", "http://10.0.0.1:8080", "https://a:b@hub.example.org", "ftp://127.0.0.1", "https://hub.example.org/?x=1", ""} {
		_, err := Pair(t.Context(), PairRequest{Hub: hub, Show: func(wire.DeviceCode) { t.Error("it shows a code") }})
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", hub, err)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := Pair(t.Context(), PairRequest{Hub: server.URL, Show: func(wire.DeviceCode) { t.Error("it shows a code") }})
	if claudehub.CodeOf(err) != claudehub.NotFound || !strings.Contains(claudehub.MessageOf(err), "--token-stdin") {
		t.Errorf("a Hub without the flow: %v", err)
	}
}
