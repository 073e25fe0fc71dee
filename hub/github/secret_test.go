package github_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/github"
	standin "claude-hub/internal/standin/github"
)

// TestSecretsAreInNoErrorNoLogAndNoAddress: every endpoint echoes all secrets in every form that an answer can have.
func TestSecretsAreInNoErrorNoLogAndNoAddress(t *testing.T) {
	f := start(t, within(time.Second))
	short(f)
	_, token := f.signIn("Ada")
	var clear struct{ Access, Refresh string }
	f.must(json.Unmarshal(token.Reveal(), &clear))
	if clear.Access == "" || clear.Refresh == "" {
		t.Fatal("the test knows no token")
	}
	secrets := []string{secret, clear.Access, clear.Refresh}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	check := func(what string, err error, more ...string) {
		t.Helper()
		if err == nil {
			return
		}
		noSecret(t, what, append(more, secrets...), err)
		logger.Error(what, "error", err, "token", token)
		for _, s := range append(more, secrets...) {
			if strings.Contains(log.String(), s) {
				t.Errorf("%s: the log holds a secret", what)
			}
		}
	}
	failures := 0
	for _, endpoint := range []string{standin.AccessToken, standin.User, standin.OrgMembership, standin.TeamMember, standin.DeleteToken} {
		for _, status := range []int{200, 202, 302, 400, 401, 403, 404, 422, 429, 500} {
			p, a := f.answer("Ada")
			all := strings.Join(append([]string{a.Code, p.Verifier, p.State}, secrets...), " ")
			word, _ := json.Marshal(all)
			for _, body := range []string{
				all, string(word), `{"error":` + string(word) + `,"error_description":` + string(word) + `,"message":` + string(word) + `,"documentation_url":` + string(word) + `}`,
				`{"message":"no","errors":[` + string(word) + `]}`, `{"access_token":` + string(word) + `}`, `{"id":` + all, `{"id":` + string(word) + `}`, `{"state":` + string(word) + `}`,
			} {
				f.fail(standin.Failure{Endpoint: endpoint, Kind: standin.Answer, Status: status, Body: body, Location: "http://127.0.0.1:9/" + clear.Access})
				what := fmt.Sprintf("%s %d", endpoint, status)
				_, _, err := f.client.Finish(t.Context(), p, a)
				check(what, err, a.Code, p.Verifier)
				_, err = f.client.Recheck(t.Context(), ada, token, list(t, "org:acme team:acme/none"), never)
				check(what, err)
				v, err := f.client.Allowed(t.Context(), token, list(t, "org:acme team:acme/none"))
				check(what, err)
				check(what, v.Err())
				check(what, f.client.Revoke(t.Context(), token))
				failures++
			}
			f.server.Heal()
		}
		f.server.Heal()
		_, token = f.signIn("Ada")
		f.must(json.Unmarshal(token.Reveal(), &clear))
		secrets = append(secrets, clear.Access, clear.Refresh)
	}
	if failures != 400 || log.Len() == 0 {
		t.Errorf("%d failures, %d bytes of log", failures, log.Len())
	}
	f.seen.mu.Lock()
	defer f.seen.mu.Unlock()
	if len(f.seen.urls) < failures {
		t.Errorf("%d addresses", len(f.seen.urls))
	}
	for _, u := range f.seen.urls {
		noSecret(t, "address", secrets, u)
		if strings.Contains(u, "?") {
			t.Errorf("an address with a query: %s", u)
		}
	}
}

func TestSecretsDoNotPrintThemselves(t *testing.T) {
	f := start(t)
	p, a := f.answer("Ada")
	_, token, err := f.client.Finish(t.Context(), p, a)
	f.must(err)
	var clear struct{ Access string }
	f.must(json.Unmarshal(token.Reveal(), &clear))
	secrets := []string{secret, p.Verifier, a.Code, clear.Access}
	config := github.Config{ClientID: clientID, ClientSecret: secret}
	type inside struct{ t github.Token }
	type outside struct {
		T github.Token
		C github.Config
		P github.Pending
		A github.Answer
	}
	noSecret(t, "values", secrets, token, &token, p, a, config, &config, outside{token, config, p, a}, inside{token}, []github.Token{token}, map[string]any{"t": token})
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("all", "token", token, "config", config, "all", outside{T: token}, "pending", fmt.Sprint(p))
	}
	encoded, err := json.Marshal(outside{T: token}.T)
	f.must(err)
	for _, s := range secrets {
		if strings.Contains(log.String()+string(encoded), s) {
			t.Errorf("a secret in %s or %s", log.String(), encoded)
		}
	}
}

func TestTokensComeBackFromWhatIsStored(t *testing.T) {
	f := start(t)
	short(f)
	_, token := f.signIn("Ada")
	again, err := github.ParseToken(token.Reveal())
	f.must(err)
	if !again.Expires().Equal(token.Expires()) || token.Expires().IsZero() || !bytes.Equal(again.Reveal(), token.Reveal()) {
		t.Errorf("%v, %v", again.Expires(), token.Expires())
	}
	for _, bad := range []string{``, `{}`, `null`, `[]`, `{"access":1}`, `{"access":""}`, `{"access":"a b"}`, `{"access":"a\n"}`, `{"access":"x","refresh":"é"}`, `{"access":"` + strings.Repeat("x", 2000) + `"}`} {
		if got, err := github.ParseToken([]byte(bad)); err == nil || !got.IsZero() || got.Reveal() != nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
