package web_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
)

// house is a Hub with two people, each with a Runner and a Session.
type house struct {
	*runnertest.Hub
	ann, bob   *runnertest.Browser
	annR, bobR *runnertest.Runner
	annS, bobS claudehub.Session
	annP       claudehub.Prompt
	annE       claudehub.Environment
	annB       claudehub.Build
	log        *syncBuffer
}

// patient is a Hub for tests that walk all routes with all credentials from one address.
func patient(_ *fleet.Options, w *web.Options) {
	often := web.Rate{Count: 1_000_000, Per: time.Minute}
	w.Limits = web.Limits{SignIn: often, DeviceCode: often, EntryPerson: often, EntryAddress: often, TokenFailures: often, Writes: often}
}

func newHouse(t testing.TB) *house {
	log := &syncBuffer{}
	h := &house{Hub: runnertest.NewHub(t, log, patient), log: log}
	ann, bob := h.Person("ann"), h.Person("bob")
	h.ann, h.bob = h.SignIn(ann), h.SignIn(bob)
	h.annR, h.bobR = h.Runner(ann, "ann-mac"), h.Runner(bob, "bob-box")
	h.annS, h.bobS = h.Session(ann, h.annR), h.Session(bob, h.bobR)
	var err error
	if h.annP, err = h.Fleet.AddPrompt(t.Context(), ann.ID, h.annS.ID, "hello", ""); err != nil {
		t.Fatal(err)
	}
	if h.annE, err = h.Fleet.CreateEnvironment(t.Context(), ann.ID, "tools", claudehub.DefaultRecipe()); err != nil {
		t.Fatal(err)
	}
	if h.annB, err = h.Fleet.CreateBuild(t.Context(), ann.ID, fleet.NewBuild{Environment: h.annE.ID, Runner: h.annR.ID}); err != nil {
		t.Fatal(err)
	}
	return h
}

// fill puts real ids into a route's path.
func (h *house) fill(path string) string {
	id := string(h.annS.ID)
	switch {
	case strings.HasPrefix(path, "/api/runners/"):
		id = string(h.annR.ID)
	case strings.HasPrefix(path, "/api/sign-ins/"), strings.HasPrefix(path, "/api/tokens/"):
		id = "nothing"
	case strings.HasPrefix(path, "/api/environments/"):
		id = string(h.annE.ID)
	case strings.HasPrefix(path, "/api/builds/"), strings.HasPrefix(path, "/runner/v1/builds/"):
		id = string(h.annB.ID)
	}
	return strings.NewReplacer("{id}", id, "{prompt}", string(h.annP.ID), "{port}", "3000", "{name}", "NAME").Replace(path)
}

var walker = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// TestMalformedIDsAreAbsentThings: what could be no id is nothing's.
func TestMalformedIDsAreAbsentThings(t *testing.T) {
	h := newHouse(t)
	for _, rt := range web.Routes() {
		x := expectations[rt.Method+" "+rt.Path]
		if x.serve != "person" || !x.absent || !strings.Contains(rt.Path, "{id}") {
			continue
		}
		kind, body := absent().body(rt, h.annR.ID)
		for _, id := range []string{"x", "ses_*", "ses_%2e%2e", "..%2f..", string(h.annS.ID) + "x", strings.Repeat("a", 64)} {
			path := strings.NewReplacer("{id}", id, "{prompt}", id, "{name}", id, "{port}", id, "{person}", id).Replace(rt.Path)
			status, _, answer := send(t, rt.Method, h.URL+path, kind, bytes.NewReader(body), map[string]string{"Cookie": h.ann.Cookie.String()})
			if status != http.StatusNotFound {
				t.Errorf("%s %s: %d %s", rt.Method, path, status, answer)
			}
		}
	}
}

func TestARouteNeedsAPrincipal(t *testing.T) {
	for name, try := range map[string]func(){"nobody": web.RegisterNobody, "behind the table": web.RegisterBehind} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was registered", name)
				}
			}()
			try()
		}()
	}
}
