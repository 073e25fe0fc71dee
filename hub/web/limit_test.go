package web_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

// limitedHub has the limits that a Hub has, or those of a test, and requests that come from where they say.
func limitedHub(t *testing.T, l web.Limits) *runnertest.Hub {
	t.Helper()
	return runnertest.NewHub(t, nil, behindProxy, func(_ *fleet.Options, w *web.Options) { w.Limits = l })
}

func from(address string, header map[string]string) map[string]string {
	return merge(header, "X-Forwarded-For", address)
}

func checkLimited(t *testing.T, what string, status int, header http.Header, body string) {
	t.Helper()
	wait, err := strconv.Atoi(header.Get("Retry-After"))
	if status != http.StatusTooManyRequests || err != nil || wait < 1 || !strings.HasPrefix(header.Get("RateLimit-Policy"), `"`) ||
		!strings.Contains(header.Get("RateLimit"), ";t=") || header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"code":"too_many"`) {
		t.Errorf("%s: %d %v %s", what, status, header, body)
	}
}

func TestWaysInAreLimitedByAddress(t *testing.T) {
	h := limitedHub(t, web.Limits{})
	for what, c := range map[string]struct {
		method, path, body string
		most               int
	}{
		"sign-in links":  {"POST", "/api/sign-in", `{"token":"chl_x"}`, 10},
		"GitHub":         {"GET", "/api/auth/github/start", "", 10},
		"from GitHub":    {"GET", "/api/auth/github/callback?code=x&state=y", "", 10},
		"device codes":   {"POST", "/api/device/code", `{"client":"cli","name":"x","machine":"y"}`, 10},
		"device polling": {"POST", "/api/device/token", `{"device_code":"` + claudehub.NewToken(claudehub.DeviceToken).Reveal() + `"}`, 20},
		"bad cookies":    {"GET", "/api/me", "", 20},
	} {
		cookie := map[string]string{}
		if what == "bad cookies" {
			cookie["Cookie"] = "claude_hub=chb_wrong"
		}
		try := func(address string) (int, http.Header, string) {
			return send(t, c.method, h.URL+c.path, "application/json", strings.NewReader(c.body), from(address, cookie))
		}
		// One /64 is one neighbour. On a slow machine some come back meanwhile.
		untilLimited(t, what, c.most, func(i int) (int, http.Header, string) { return try("2001:db8:0:1:" + strconv.Itoa(i+1) + "::1") })
		if status, _, _ := try("2001:db8:0:2::1"); status == http.StatusTooManyRequests {
			t.Errorf("%s: another neighbour is refused too", what)
		}
	}
}

// untilLimited tries until it is refused, which must not be before so many.
func untilLimited(t *testing.T, what string, most int, try func(int) (int, http.Header, string)) {
	t.Helper()
	for i := range 3*most + 3 {
		status, header, body := try(i)
		if status != http.StatusTooManyRequests {
			continue
		}
		if i < most {
			t.Errorf("%s: refused at %d: %s", what, i+1, body)
		}
		checkLimited(t, what, status, header, body)
		return
	}
	t.Errorf("%s: %d were let through", what, 3*most+3)
}

// TestThoseWhoAreInStayIn: what strangers do at the same address locks nobody out.
func TestThoseWhoAreInStayIn(t *testing.T) {
	h := limitedHub(t, web.Limits{})
	b := h.SignIn(h.Person("ann"))
	const office = "203.0.113.7"
	for range 40 {
		send(t, "GET", h.URL+"/api/me", "", nil, from(office, bearer(claudehub.NewToken(claudehub.APITokenKind))))
	}
	if status, _, body := send(t, "GET", h.URL+"/api/me", "", nil, from(office, map[string]string{"Cookie": b.Cookie.String()})); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestWrongCodesAreLimitedByPersonAndByAddress(t *testing.T) {
	h := limitedHub(t, web.Limits{})
	ann := map[string]string{"Cookie": h.SignIn(h.Person("ann")).Cookie.String()}
	bob := map[string]string{"Cookie": h.SignIn(h.Person("bob")).Cookie.String()}
	code, err := h.Fleet.RequestDevice(t.Context(), wire.DeviceRequest{Client: wire.DeviceCLI, Name: "x", Machine: "y"})
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := h.URL+"/api/device/"+code.UserCode, h.URL+"/api/device/BBBB-BBBB"
	for i := range 30 { // the right one counts for nothing
		if status, _, body := send(t, "GET", right, "", nil, from("198.51.100.1", ann)); status != http.StatusOK {
			t.Fatalf("%d: %d %s", i, status, body)
		}
	}
	untilLimited(t, "wrong codes", 5, func(i int) (int, http.Header, string) {
		return send(t, "GET", wrong, "", nil, from("198.51.100."+strconv.Itoa(i+1), ann))
	})
	for _, each := range []struct{ method, url, body string }{
		{"GET", wrong, ""}, {"GET", right, ""}, {"POST", right + "/approve", "{}"}, {"POST", right + "/deny", ""},
		{"POST", h.URL + "/api/setup", `{"code":"x"}`}, {"POST", h.URL + "/api/join", `{"token":"x"}`},
	} {
		untilLimited(t, each.method+" "+each.url, 0, func(int) (int, http.Header, string) {
			return send(t, each.method, each.url, "application/json", strings.NewReader(each.body), from("198.51.100.50", ann))
		})
	}
	if status, _, _ := send(t, "GET", right, "", nil, from("198.51.100.50", bob)); status != http.StatusOK {
		t.Errorf("another person: %d", status)
	}
}

func TestWritesAndUploadsOfAPersonAreLimited(t *testing.T) {
	h := limitedHub(t, web.Limits{Writes: web.Rate{Count: 5, Per: time.Minute}})
	b := h.SignIn(h.Person("ann"))
	untilLimited(t, "writes", 5, func(int) (int, http.Header, string) {
		a := b.Do("POST", "/api/tokens", map[string]any{"name": "x", "scopes": []string{"runners"}})
		return a.Status, a.Header, string(a.Body)
	})
	if a := b.Do("GET", "/api/tokens", nil); a.Status != http.StatusOK {
		t.Errorf("a read: %d", a.Status)
	}

	h = limitedHub(t, web.Limits{Uploads: web.Rate{Count: 10_000, Per: time.Hour}, RunnerUploads: web.Rate{Count: 10_000, Per: time.Hour}})
	p := h.Person("ann")
	b, r := h.SignIn(p), h.Runner(p, "mac")
	long := map[string]any{"name": strings.Repeat("x", 12_000), "scopes": []string{"runners"}}
	if a := b.Do("POST", "/api/tokens", long); a.Status != http.StatusBadRequest {
		t.Fatalf("what was allowed to begin is read: %d %s", a.Status, a.Body)
	}
	a := b.Do("POST", "/api/tokens", long)
	checkLimited(t, "more bytes", a.Status, a.Header, string(a.Body))

	s := open(t, r, "")
	next(t, s, wire.EventSnapshot)
	sess := h.Session(p, r)
	big := wire.Frame{Kind: wire.FrameSnapshot, Life: claudehub.NewNonce(), Cols: 80, Rows: 24, Data: make([]byte, 12_000)}
	if err := r.Screen(t.Context(), sess.ID, big); err != nil {
		t.Fatal(err)
	}
	refusal(t, "a Runner's bytes", r.Screen(t.Context(), sess.ID, big), http.StatusTooManyRequests)
}

func TestWhatIsOpenIsLimited(t *testing.T) {
	h := limitedHub(t, web.Limits{Streams: 2, StreamsPerAddress: 3, Sockets: 1, SocketsPerAddress: 2})
	ann, bob := h.Person("ann"), h.Person("bob")
	a, b := h.SignIn(ann), h.SignIn(bob)
	r := h.Runner(ann, "mac")
	sess := h.Session(ann, r)
	cookie := func(b *runnertest.Browser) map[string]string {
		return from("203.0.113.1", map[string]string{"Cookie": b.Cookie.String()})
	}
	one := followAs(t, h.URL+"/api/events", cookie(a))
	next(t, one, "ready")
	next(t, followAs(t, h.URL+"/api/events", cookie(a)), "ready")
	status, header, body := send(t, "GET", h.URL+"/api/events", "", nil, cookie(a))
	checkLimited(t, "a person's third stream", status, header, body)
	next(t, followAs(t, h.URL+"/api/events", cookie(b)), "ready")
	status, header, body = send(t, "GET", h.URL+"/api/events", "", nil, cookie(b))
	checkLimited(t, "an address's fourth", status, header, body)
	one.Close()
	if !eventually(t, func() bool {
		req, err := http.NewRequestWithContext(within(t, 5*time.Second), http.MethodGet, h.URL+"/api/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range cookie(a) {
			req.Header.Set(name, value)
		}
		res, err := walker.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.CopyN(io.Discard, res.Body, 1)
		return res.StatusCode == http.StatusOK
	}) {
		t.Error("a stream that ended keeps its place")
	}

	v, err := a.View(t.Context(), sess.ID, wire.TerminalUp{Terminal: "t-1", Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, status, _ := a.Dial(t.Context(), sess.ID, nil); status != http.StatusTooManyRequests {
		t.Errorf("a second terminal: %d", status)
	}
}

// eventually polls with a deadline.
func eventually(t *testing.T, ok func() bool) bool {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return false
}
