package github

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"claude-hub/internal/claudehub"
)

func TestWhereTheAPIStands(t *testing.T) {
	for base, want := range map[string]string{
		"https://github.com": "https://api.github.com/", "https://acme.ghe.com": "https://api.acme.ghe.com/",
		"https://github.example.com": "https://github.example.com/api/v3/", "https://notghe.com": "https://notghe.com/api/v3/",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := apiOf(u, ""); err != nil || got.String() != want {
			t.Errorf("%s: %s %v", base, got, err)
		}
	}
}

func TestBoundedBodyTellsTheBoundFromMore(t *testing.T) {
	for size, want := range map[int]error{0: nil, 1: nil, maxBody - 1: nil, maxBody: nil, maxBody + 1: errTooLarge, 3 * maxBody: errTooLarge} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "eof with data": iotest.DataErrReader} {
			b, err := io.ReadAll(&boundedBody{io.NopCloser(wrap(strings.NewReader(strings.Repeat("x", size)))), maxBody})
			if !errors.Is(err, want) || len(b) > maxBody || (want == nil && len(b) != size) {
				t.Errorf("%s of %d: read %d, %v", name, size, len(b), err)
			}
		}
	}
}

// canned answers every request of one path with what the fuzzer made up, and all others rightly.
type canned struct {
	path, kind, body string
	status           int
}

var right = map[string]string{
	"/login/oauth/access_token":                            `{"access_token":"gho_right","token_type":"bearer"}`,
	"/api/v3/user":                                         `{"id":1001,"login":"ada"}`,
	"/api/v3/user/memberships/orgs/acme":                   `{"state":"pending","user":{"id":1001},"organization":{"login":"acme"}}`,
	"/api/v3/orgs/acme/teams/platform/memberships/ada":     `{"state":"pending"}`,
	"/api/v3/applications/" + "Iv-standin" + "/token":      `{}`,
	"/api/v3/orgs/acme/teams/platform/memberships/another": `{"state":"pending"}`,
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	res := &http.Response{Request: r, StatusCode: 200, Status: "200 OK", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1}
	body := right[r.URL.Path]
	if strings.HasSuffix(r.URL.Path, c.path) {
		body, res.StatusCode = c.body, c.status
		res.Header.Set("Content-Type", c.kind)
	}
	res.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))
	return res, nil
}

// FuzzBodies: whatever an endpoint answers, the caller gets an identity, a yes, a no or an error of its own words; a
// body without the word active is never a yes of a membership, and nothing of a body is in an error.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{`{"id":1001,"login":"ada"}`, `{"state":"active","user":{"id":1001},"organization":{"login":"acme"}}`, `{"message":"Not Found"}`, `{"error":"bad_verification_code"}`, `access_token=x&token_type=bearer&expires_in=9`, `{"access_token":"x","expires_in":"1e3"}`, `null`, `[`, ``} {
		for endpoint := range 4 {
			f.Add(endpoint, 200, "application/json", body)
			f.Add(endpoint, 404, "application/x-www-form-urlencoded", body)
		}
	}
	paths := []string{"/access_token", "/user", "/orgs/acme", "/memberships/ada"}
	f.Fuzz(func(t *testing.T, endpoint, status int, kind, body string) {
		if endpoint < 0 || endpoint >= len(paths) || status < 200 || status > 599 || status >= 502 && status <= 504 || strings.ContainsAny(kind, "\r\n") {
			t.Skip()
		}
		mark := "MARK-OF-THE-BODY"
		body = strings.ReplaceAll(body, "x", mark)
		c, err := New(Config{BaseURL: "http://127.0.0.1:9", ClientID: "Iv-standin", ClientSecret: "s", Transport: canned{paths[endpoint], kind, body, status}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		_, p, err := c.Begin("http://127.0.0.1:9/back")
		if err != nil {
			t.Fatal(err)
		}
		who, token, err := c.Finish(t.Context(), p, Answer{Code: "c", State: p.State})
		checkError(t, err, mark)
		if err == nil && (who.ID <= 0 || !logins.MatchString(who.Login) || token.IsZero() || len(token.secret().Access) > maxTokenLen) {
			t.Fatalf("%+v %v", who, token)
		}
		stored := tokenSecret{Access: "gho_stored"}.token()
		v, err := c.Recheck(t.Context(), 1001, stored, AllowList{Logins: []string{"ada2"}, Orgs: []string{"acme"}, Teams: []string{"acme/platform"}}, nil)
		checkError(t, err, mark)
		checkError(t, v.Err(), mark)
		if v.Allowed && (err != nil || v.Identity.ID != 1001 || (v.By != "login:ada2" && !strings.Contains(body, "active") && !strings.Contains(body, `\u`))) {
			t.Fatalf("%q: %+v %v", body, v, err)
		}
		if err == nil && !v.Allowed && v.Reason == "" {
			t.Fatalf("a no without a reason: %+v", v)
		}
	})
}

func checkError(t *testing.T, err error, mark string) {
	t.Helper()
	if err == nil {
		return
	}
	if code := claudehub.CodeOf(err); code == claudehub.Internal || strings.Contains(err.Error(), mark) {
		t.Fatalf("%s: %v", code, err)
	}
}
