package github_test

import (
	"testing"
	"time"

	"claude-hub/hub/github"
	standin "claude-hub/internal/standin/github"
)

func TestCanSee(t *testing.T) {
	for name, layout := range map[string][]option{"public": {publicLayout}, "enterprise": nil} {
		t.Run(name, func(t *testing.T) {
			f := start(t, layout...)
			_, token := f.signIn("Ada")
			_, bobs := f.signIn("bob")
			for repo, want := range map[[2]string]bool{
				{"acme", "app"}: true, {"ACME", "App"}: true, {"acme", "other"}: false, {"bob", "app"}: false,
				{"acme", ".."}: false, {"..", "user"}: false, {"acme", "app/../../user"}: false, {"", ""}: false, {"acme", "app?x"}: false,
			} {
				got, err := f.patient.CanSee(t.Context(), token, repo[0], repo[1])
				if err != nil || got != want {
					t.Errorf("%v: %v %v", repo, got, err)
				}
			}
			if got, err := f.patient.CanSee(t.Context(), bobs, "acme", "app"); got || err != nil {
				t.Errorf("bob: %v %v", got, err)
			}
			f.must(f.server.SetReader("acme/app", bob, true))
			if got, err := f.patient.CanSee(t.Context(), bobs, "acme", "app"); !got || err != nil {
				t.Errorf("bob later: %v %v", got, err)
			}
			f.server.Revoke(ada)
			if got, err := f.patient.CanSee(t.Context(), token, "acme", "app"); got || err != nil {
				t.Errorf("with a revoked token: %v %v", got, err)
			}
			if got, err := f.patient.CanSee(t.Context(), github.Token{}, "acme", "app"); got || err != nil {
				t.Errorf("without a token: %v %v", got, err)
			}
		})
	}
}

// Whatever is no answer of GitHub's is no "no".
func TestCanSeeInAnOutage(t *testing.T) {
	f := start(t, publicLayout, within(300*time.Millisecond))
	_, token := f.signIn("Ada")
	for name, failure := range map[string]standin.Failure{
		"down": {Kind: standin.Down}, "half": {Kind: standin.Half}, "hang": {Kind: standin.Hang}, "500": {Kind: standin.Status, Status: 500},
		"422": {Kind: standin.Status, Status: 422}, "limit": {Kind: standin.RateLimit}, "burst": {Kind: standin.Secondary, RetryAfter: 9},
		"malformed": {Kind: standin.Malformed}, "huge": {Kind: standin.Huge}, "foreign": {Kind: standin.Foreign},
		"elsewhere": {Kind: standin.Redirect, Status: 301, Location: "http://127.0.0.1:9/elsewhere"},
		"another":   {Kind: standin.Answer, Body: `{"id": 1, "full_name": "acme/other"}`},
		"empty":     {Kind: standin.Answer, Body: `{}`},
	} {
		failure.Endpoint = standin.RepoEndpoint
		f.fail(failure)
		got, err := f.client.CanSee(t.Context(), token, "acme", "app")
		if got {
			t.Errorf("%s: yes", name)
		}
		wantOutage(t, name, err)
	}
	for _, status := range []int{401, 403, 404} {
		f.fail(standin.Failure{Endpoint: standin.RepoEndpoint, Kind: standin.Status, Status: status})
		if got, err := f.patient.CanSee(t.Context(), token, "acme", "app"); got || err != nil {
			t.Errorf("%d: %v %v", status, got, err)
		}
	}
}
