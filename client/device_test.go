package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// answers is a Hub as far as polling goes: it gives each answer once, the last for ever, and notes when it was asked.
type answers struct {
	all   []string // a word of RFC 8628, "ok", "down", "busy", or an error's code
	asked []time.Duration
	began time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, time.Since(a.began))
	var in wire.DeviceTokenRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.DeviceCode != "the-code" || r.URL.Path != wire.DeviceTokenPath || r.Header.Get("Authorization") != "" {
		return nil, errors.New("that is not how a device asks")
	}
	say := a.all[0]
	if len(a.all) > 1 {
		a.all = a.all[1:]
	}
	resp := &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/problem+json"}}, Request: r}
	body := `{"code":"invalid","detail":"A sentence.","error":"` + say + `"}`
	switch say {
	case "down":
		return nil, errors.New("connection refused")
	case "busy":
		resp.StatusCode, body = http.StatusTooManyRequests, `{"code":"too_many","detail":"Wait."}`
		resp.Header.Set("Retry-After", "30")
	case "ok":
		resp.StatusCode, body = http.StatusOK, `{"token":"chp_x","login":"ada","name":"box"}`
	}
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp, nil
}

func await(ctx context.Context, t *testing.T, code client.DeviceCode, all ...string) (*answers, client.DeviceToken, error) {
	t.Helper()
	a := &answers{all: all, began: time.Now()}
	c, err := client.New("https://hub.example.org", "", client.WithTransport(a))
	check(t, err)
	code.DeviceCode = "the-code"
	got, err := c.AwaitDevice(ctx, code)
	return a, got, err
}

func TestAwaitDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, got, err := await(t.Context(), t, client.DeviceCode{Interval: 2, ExpiresIn: 900}, wire.DevicePending, wire.DeviceSlow, wire.DevicePending, "ok")
		check(t, err)
		if got.Token != "chp_x" || got.Login != "ada" {
			t.Errorf("it gets %+v", got)
		}
		for i, want := range []time.Duration{2, 4, 11, 18} { // slow_down adds five seconds from then on
			if a.asked[i] != want*time.Second {
				t.Errorf("question %d is after %s, not %d s", i, a.asked[i], want)
			}
		}
		// A Hub that is away or asks for patience is waited for.
		a, _, err = await(t.Context(), t, client.DeviceCode{ExpiresIn: 900}, "down", "busy", "ok")
		check(t, err)
		for i, want := range []time.Duration{5, 15, 45} {
			if a.asked[i] != want*time.Second {
				t.Errorf("question %d is after %s, not %d s", i, a.asked[i], want)
			}
		}
	})
}

func TestAwaitDeviceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, word := range []string{wire.DeviceDenied, wire.DeviceExpired} {
			a, _, err := await(t.Context(), t, client.DeviceCode{Interval: 1, ExpiresIn: 900}, wire.DevicePending, word)
			if claudehub.MessageOf(err) != "A sentence." || len(a.asked) != 2 {
				t.Errorf("%s: %v after %d questions", word, err, len(a.asked))
			}
		}
		a, _, err := await(t.Context(), t, client.DeviceCode{Interval: 5, ExpiresIn: 60}, wire.DevicePending)
		if claudehub.CodeOf(err) != claudehub.Expired || len(a.asked) > 12 {
			t.Errorf("a code that nobody approves: %v after %d questions", err, len(a.asked))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		if _, _, err = await(ctx, t, client.DeviceCode{Interval: 5, ExpiresIn: 60}, wire.DevicePending); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that was given up: %v", err)
		}
	})
}

func TestJoinTakesTheWholeAddress(t *testing.T) {
	c, err := client.New("https://hub.example.org", "", client.WithTransport(&answers{all: []string{"down"}}))
	check(t, err)
	token := claudehub.NewToken(claudehub.JoinToken).Reveal()
	for _, address := range []string{"", "https://hub.example.org/join", token[:20], "https://hub.example.org/join#" + token[1:], claudehub.NewToken(claudehub.SignInToken).Reveal()} {
		_, err := c.Join(t.Context(), address)
		wantCode(t, "half of an address", err, claudehub.Invalid)
	}
	for _, address := range []string{token, "https://hub.example.org/join#" + token, " " + token + "\n"} {
		_, err := c.Join(t.Context(), address)
		wantCode(t, "a whole one", err, claudehub.Unavailable)
	}
}
