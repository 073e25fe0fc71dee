package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
)

func send(t *testing.T, method, url, contentType string, body io.Reader, header map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := walker.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

// TestProblems shows what each kind of error looks like, against golden files (set UPDATE_GOLDEN to write them).
func TestProblems(t *testing.T) {
	h := newHouse(t)
	cookie := map[string]string{"Cookie": h.ann.Cookie.String()}
	js := "application/json"
	sessions := h.URL + "/api/sessions"
	mine := sessions + "/" + string(h.annS.ID)
	for name, c := range map[string]struct {
		method, url, kind, body string
		header                  map[string]string
		status                  int
	}{
		"unauthenticated": {"GET", sessions, "", "", nil, 401},
		"runner_token":    {"POST", h.URL + "/runner/v1/status", js, "{}", nil, 401},
		"not_found":       {"GET", sessions + "/ses_x", "", "", cookie, 404},
		"no_such_path":    {"GET", h.URL + "/api/nothing", "", "", cookie, 404},
		"wrong_method":    {"PUT", sessions, js, "{}", cookie, 404},
		"not_json":        {"POST", mine + "/prompts", js, "{", cookie, 400},
		"wrong_type":      {"POST", mine + "/prompts", js, `{"text":1}`, cookie, 400},
		"missing_field":   {"POST", mine + "/prompts", js, `{}`, cookie, 400},
		"unknown_field":   {"PATCH", mine, js, `{"titel":"x"}`, cookie, 400},
		"empty_prompt":    {"POST", mine + "/prompts", js, `{"text":" "}`, cookie, 400},
		"bad_model":       {"PATCH", mine, js, `{"model":"gpt"}`, cookie, 400},
		"bad_link":        {"POST", h.URL + "/api/sign-in", js, `{"token":"chl_x"}`, nil, 401},
		"used_link":       {"POST", h.URL + "/api/sign-in", js, `{"token":"` + claudehub.NewToken(claudehub.SignInToken).Reveal() + `"}`, nil, 401},
		"too_large":       {"PATCH", mine, js, `{"title":"` + strings.Repeat("x", 100_000) + `"}`, cookie, 413},
		"large_prompt":    {"POST", mine + "/prompts", js, `{"text":"` + strings.Repeat("x", 600_000) + `"}`, cookie, 413},
		"cross_site":      {"POST", mine + "/wake", js, "", merge(cookie, "Sec-Fetch-Site", "cross-site"), 403},
		"wrong_content":   {"POST", mine + "/prompts", "text/plain", "x", cookie, 400},
	} {
		status, header, body := send(t, c.method, c.url, c.kind, strings.NewReader(c.body), c.header)
		if status != c.status || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s %s", name, status, header.Get("Content-Type"), body)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, []byte(body), "", "  "); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		file := filepath.Join("testdata", "problems", name+".json")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, pretty.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(want, pretty.Bytes()) {
			t.Errorf("%s (%v):\n%s", name, err, pretty.String())
		}
	}
}

func merge(m map[string]string, k, v string) map[string]string {
	out := map[string]string{k: v}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func TestUnsafeRequestsFromOtherSitesAreRefused(t *testing.T) {
	h := newHouse(t)
	for _, rt := range web.Routes() {
		if rt.Method == http.MethodGet || rt.Principal == "runner" {
			continue
		}
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			status, _, body := send(t, rt.Method, h.URL+h.fill(rt.Path), "application/json", strings.NewReader("{}"),
				merge(map[string]string{"Cookie": h.ann.Cookie.String()}, name, value))
			if status != http.StatusForbidden {
				t.Errorf("%s %s with %s: %d %s", rt.Method, rt.Path, name, status, body)
			}
		}
	}
	for name, header := range map[string]http.Header{
		"another site":        {"Origin": {"https://evil.example"}},
		"a sandboxed page":    {"Origin": {"null"}},
		"another port":        {"Origin": {"http://127.0.0.1:1"}},
		"a fetch from a site": {"Sec-Fetch-Site": {"cross-site"}},
	} {
		conn, status, err := h.ann.Dial(t.Context(), h.annS.ID, header)
		if err == nil {
			_ = conn.CloseNow()
		}
		if status != http.StatusForbidden {
			t.Errorf("a WebSocket from %s: %d %v", name, status, err)
		}
		cookie := map[string]string{"Cookie": h.ann.Cookie.String()}
		for k, v := range header {
			cookie = merge(cookie, k, v[0])
		}
		if status, _, body := send(t, "GET", h.URL+"/api/events", "", nil, cookie); status != http.StatusForbidden {
			t.Errorf("a stream for %s: %d %s", name, status, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/healthz", "/", "/api/sessions", "/nothing.js", "/sessions/x"} {
		_, got, _ := send(t, "GET", h.URL+path, "", nil, nil)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Get(name))
			}
		}
		csp := got.Get("Content-Security-Policy")
		if !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") {
			t.Errorf("%s: %s", path, csp)
		}
		if got.Get("X-Request-Id") == "" || got.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestTheCookie(t *testing.T) {
	h := newHouse(t)
	c := h.ann.Cookie
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || c.MaxAge < 30*24*3600 {
		t.Errorf("%+v", c)
	}
	handler, err := web.New(web.Options{Fleet: h.Fleet, Feeds: h.Feeds, TLS: true, PublicURL: "https://hub.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/sign-in", strings.NewReader(`{"token":"`+h.Link(h.ann.Person).Reveal()+`"}`))
	req.Header.Set("Content-Type", "application/json")
	handler.ServeHTTP(rec, req)
	res := rec.Result()
	defer res.Body.Close()
	if len(res.Cookies()) != 1 || !res.Cookies()[0].Secure || res.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%d %v", rec.Code, res.Header)
	}
	if _, err := web.New(web.Options{PublicURL: "hub.example.org"}); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("a public URL without a scheme: %v", err)
	}
}

func TestTheLogHasRoutesAndNoCredentials(t *testing.T) {
	h := newHouse(t)
	link := h.Link(h.ann.Person)
	send(t, "GET", h.URL+"/api/sessions?archived=true&secret=topsecret", "", nil, map[string]string{"Cookie": h.ann.Cookie.String()})
	send(t, "POST", h.URL+"/api/sign-in?t="+link.Reveal(), "application/json", strings.NewReader(`{"token":"`+link.Reveal()+`"}`), nil)
	send(t, "POST", h.URL+"/runner/v1/status", "application/json", strings.NewReader("{"), map[string]string{"Authorization": "Bearer " + h.annR.Token.Reveal()})
	for _, body := range []string{`{"title":["topsecret"]}`, `{"topsecret`, `{"value":"topsecret"}`, `{"title":"topsecret","title2":1}`} {
		for method, path := range map[string]string{"POST": "/api/sessions", "PUT": "/api/environments/" + string(claudehub.NewEnvironmentID()) + "/variables/X"} {
			send(t, method, h.URL+path, "application/json", strings.NewReader(body), map[string]string{"Cookie": h.ann.Cookie.String()})
		}
	}
	h.Stop()
	log := h.log.String()
	for _, secret := range []string{"topsecret", h.ann.Cookie.Value, link.Reveal(), h.annR.Token.Reveal()} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %.8s…", secret)
		}
	}
	for _, line := range []string{`"route":"GET /api/sessions"`, `"route":"POST /api/sign-in"`, `"who":"` + string(h.ann.Person.ID) + `"`} {
		if !strings.Contains(log, line) {
			t.Errorf("the log has no %s:\n%s", line, log)
		}
	}
}

func TestAPanicIsAnAnswerAndALogLine(t *testing.T) {
	log := &syncBuffer{}
	rec := httptest.NewRecorder()
	web.Panicking(log).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/x?q=1", nil))
	if rec.Code != 500 || !strings.Contains(rec.Body.String(), "Something went wrong on our side") || strings.Contains(rec.Body.String(), "boom") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "export_internal_test.go") {
		t.Errorf("the log: %s", log)
	}
}

func TestPages(t *testing.T) {
	dist := fstest.MapFS{
		"index.html":           {Data: []byte(`<meta name="csp-nonce" content="__CSP_NONCE__"><script src="/assets/a-1.js" nonce="__CSP_NONCE__">`)},
		"assets/a-1.js":        {Data: []byte("run()")},
		"icons/idle.svg":       {Data: []byte("<svg/>")},
		"assets/font-x.woff2":  {Data: []byte("font")},
		"assets/style-zz9.css": {Data: []byte("a{}")},
	}
	pages := web.Pages(t, dist)
	get := func(path string, header ...string) *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		if len(header) > 0 {
			req.Header.Set("If-None-Match", header[0])
		}
		pages.ServeHTTP(rec, req)
		return rec
	}
	nonces := []string{}
	for _, path := range []string{"/", "/sign-in", "/sessions/ses_1", "/index.html"} {
		rec := get(path)
		if path == "/index.html" {
			continue // a file's name: 404 or the page, both are fine for people who type it
		}
		_, after, _ := strings.Cut(rec.Body.String(), `content="`)
		nonce, _, _ := strings.Cut(after, `"`)
		if rec.Code != 200 || len(nonce) < 20 || slices.Contains(nonces, nonce) || strings.Contains(rec.Body.String(), "__CSP") ||
			!strings.Contains(rec.Header().Get("Content-Security-Policy"), "'nonce-"+nonce+"'") || rec.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, rec.Code, rec.Header(), rec.Body)
		}
		nonces = append(nonces, nonce)
	}
	for path, kind := range map[string]string{"/assets/a-1.js": "javascript", "/assets/style-zz9.css": "text/css", "/assets/font-x.woff2": "font/woff2"} {
		if rec := get(path); rec.Code != 200 || !strings.Contains(rec.Header().Get("Cache-Control"), "immutable") || !strings.Contains(rec.Header().Get("Content-Type"), kind) {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
	icon := get("/icons/idle.svg")
	if icon.Header().Get("Cache-Control") != "no-cache" || get("/icons/idle.svg", icon.Header().Get("ETag")).Code != http.StatusNotModified {
		t.Errorf("icon: %v", icon.Header())
	}
	for _, path := range []string{"/assets/gone.js", "/favicon.ico", "/../etc/passwd.txt"} {
		if rec := get(path); rec.Code != 404 {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
	if rec := func() *httptest.ResponseRecorder {
		rec := httptest.NewRecorder()
		web.Pages(t, fstest.MapFS{}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
		return rec
	}(); !strings.Contains(rec.Body.String(), "make build") {
		t.Errorf("not built: %s", rec.Body)
	}
}

func TestTheAPIDoesWhatTheFleetDecides(t *testing.T) {
	h := newHouse(t)
	type items[T any] struct {
		Items []T `json:"items"`
	}
	req := map[string]any{"runner": h.annR.ID, "source": map[string]any{}, "prompt": "first", "request": "r1", "model": "opus", "effort": "high"}
	a, b := h.ann.Do("POST", "/api/sessions", req), h.ann.Do("POST", "/api/sessions", req)
	var one, two claudehub.Session
	if json.Unmarshal(a.Body, &one) != nil || json.Unmarshal(b.Body, &two) != nil || a.Status != 201 || one.ID != two.ID || one.Model != "opus" {
		t.Fatalf("%d %s %s", a.Status, a.Body, b.Body)
	}
	path := "/api/sessions/" + string(one.ID)
	for _, verb := range []string{"sleep", "wake", "stop", "archive", "unarchive"} {
		if a := h.ann.Do("POST", path+"/"+verb, nil); a.Status != 200 {
			t.Errorf("%s: %d %s", verb, a.Status, a.Body)
		}
	}
	if a := h.ann.Do("PATCH", path, map[string]string{"title": "New"}); a.Status != 200 || !strings.Contains(string(a.Body), `"title":"New"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("POST", path+"/prompts", map[string]string{"text": "second"}); a.Status != 201 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("PATCH", "/api/runners/"+string(h.annR.ID), map[string]string{"name": "other"}); a.Status != 200 || !strings.Contains(string(a.Body), `"doctor":[]`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for path, n := range map[string]int{"/api/sessions": 2, "/api/sessions?archived=true": 0, path + "/prompts": 2, path + "/history": 0, "/api/runners": 1} {
		if a := h.ann.Do("GET", path, nil); !strings.Contains(string(a.Body), `"items":[`) {
			t.Errorf("%s: %s", path, a.Body)
		} else {
			var got items[json.RawMessage]
			if err := json.Unmarshal(a.Body, &got); err != nil || len(got.Items) != n {
				t.Errorf("%s: %d items, expected %d: %s", path, len(got.Items), n, a.Body)
			}
		}
	}
	var ins items[web.SignInItem]
	if err := json.Unmarshal(h.ann.Do("GET", "/api/sign-ins", nil).Body, &ins); err != nil || len(ins.Items) != 1 || !ins.Items[0].Current {
		t.Errorf("%+v %v", ins, err)
	}
	if a := h.ann.Do("GET", "/api/hub", nil); !strings.Contains(string(a.Body), `"signed_in":true`) || !strings.Contains(string(a.Body), `"notice":"a test"`) {
		t.Errorf("%s", a.Body)
	}
	if a := h.ann.Do("DELETE", "/api/sign-ins/"+ins.Items[0].ID, nil); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("GET", "/api/me", nil); a.Status != 401 {
		t.Errorf("revoked, and still in: %d", a.Status)
	}
}
