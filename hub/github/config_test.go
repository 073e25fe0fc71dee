package github_test

import (
	"strings"
	"testing"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
)

func TestConfig(t *testing.T) {
	for _, base := range []string{"", "https://github.com", "https://github.com/", "https://GitHub.com", "https://acme.ghe.com", "https://github.example.com:8443", "http://127.0.0.1:8080", "http://[::1]:1", "http://localhost:1"} {
		c, err := github.New(github.Config{BaseURL: base, ClientID: clientID, ClientSecret: secret})
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		to, _, err := c.Begin("https://hub.example/signin/github")
		want := base
		if base == "" {
			want = "https://github.com"
		}
		if err != nil || !strings.HasPrefix(to, strings.TrimSuffix(want, "/")+"/login/oauth/authorize?") {
			t.Errorf("%q: %s %v", base, to, err)
		}
		c.Close()
	}
	for _, base := range []string{"http://github.example.com", "github.example.com", "https://", "https://a:b@github.example.com", "https://github.example.com/api/v3", "https://github.example.com?x", "https://github.example.com/#x", "ftp://github.example.com", "http://127.0.0.1.example.com", "%"} {
		for _, c := range []github.Config{{BaseURL: base}, {APIURL: base + "/?x"}} {
			c.ClientID, c.ClientSecret = clientID, secret
			if _, err := github.New(c); claudehub.CodeOf(err) != claudehub.Invalid {
				t.Errorf("%q: %v", base, err)
			}
		}
	}
	for _, c := range []github.Config{{ClientSecret: secret}, {ClientID: "../x", ClientSecret: secret}, {ClientID: "a/b", ClientSecret: secret}, {ClientID: clientID}, {ClientID: clientID, ClientSecret: " x\n"}} {
		_, err := github.New(c)
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%v: %v", c, err)
		}
	}
}
