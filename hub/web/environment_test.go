package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/runnertest"
	"claude-hub/internal/wire"
)

type listOf[T any] struct {
	Items []T `json:"items"`
}

// do sends a request that has to be answered with a status, and decodes the answer.
func do[T any](t *testing.T, b *runnertest.Browser, status int, method, path string, body any) (out T) {
	t.Helper()
	a := b.Do(method, path, body)
	if a.Status != status {
		t.Fatalf("%s %s: %d instead of %d: %s", method, path, a.Status, status, a.Body)
	}
	if len(a.Body) > 0 {
		if err := json.Unmarshal(a.Body, &out); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, a.Body)
		}
	}
	return out
}

func refusedWith(t *testing.T, b *runnertest.Browser, status int, method, path string, body any, words ...string) {
	t.Helper()
	p := do[struct{ Detail string }](t, b, status, method, path, body)
	for _, w := range words {
		if !strings.Contains(p.Detail, w) {
			t.Errorf("%s %s: no %q in %q", method, path, w, p.Detail)
		}
	}
}

func TestEnvironmentsOverHTTP(t *testing.T) {
	h := newHouse(t)
	recipe := claudehub.DefaultRecipe()
	recipe.Setup = "apt-get install -y jq\n"
	e := do[claudehub.Environment](t, h.ann, 201, "POST", "/api/environments", map[string]any{"name": "web", "recipe": recipe})
	path := "/api/environments/" + string(e.ID)
	if got := do[claudehub.Environment](t, h.ann, 200, "GET", path, nil); got.Version != 1 || got.Recipe.Setup != recipe.Setup || got.Recipe.Allow == nil {
		t.Errorf("%+v", got)
	}
	recipe.CPUs = 4
	if got := do[claudehub.Environment](t, h.ann, 200, "PATCH", path, map[string]any{"recipe": recipe, "base_version": 1}); got.Version != 2 {
		t.Errorf("%+v", got)
	}
	refusedWith(t, h.ann, 409, "PATCH", path, map[string]any{"name": "x", "base_version": 1}, "version 2", "version 1")
	bad := recipe
	bad.Memory = 64 << 20
	refusedWith(t, h.ann, 400, "PATCH", path, map[string]any{"recipe": bad, "base_version": 2}, "512 MB")
	bad = recipe
	bad.Setup = strings.Repeat("x", claudehub.MaxSetup+1)
	refusedWith(t, h.ann, 413, "POST", "/api/environments", map[string]any{"name": "x", "recipe": bad}, "256 KB")
	if got := do[listOf[claudehub.EnvironmentVersion]](t, h.ann, 200, "GET", path+"/versions", nil); len(got.Items) != 2 || got.Items[0].Version != 2 {
		t.Errorf("%+v", got)
	}
	if got := do[claudehub.Environment](t, h.ann, 200, "POST", path+"/archive", nil); !got.Archived {
		t.Errorf("%+v", got)
	}
	if got := do[listOf[claudehub.Environment]](t, h.ann, 200, "GET", "/api/environments?archived=true", nil); len(got.Items) != 1 {
		t.Errorf("%+v", got)
	}
	do[claudehub.Environment](t, h.ann, 200, "POST", path+"/unarchive", nil)

	s := do[claudehub.Session](t, h.ann, 201, "POST", "/api/sessions", map[string]any{"runner": h.annR.ID, "environment": map[string]any{"id": e.ID, "version": 1}})
	if s.Environment == nil || s.Environment.Version != 1 || s.Environment.Name != "web" || s.Forwards == nil || s.Observed.Ports == nil {
		t.Errorf("%+v", s)
	}
	one := "/api/sessions/" + string(s.ID)
	if got := do[claudehub.Session](t, h.ann, 200, "PATCH", one, map[string]any{"environment": map[string]any{"id": e.ID}}); got.Environment.Version != 2 {
		t.Errorf("%+v", got.Environment)
	}
	if got := do[claudehub.Session](t, h.ann, 200, "PATCH", one, map[string]any{"environment": map[string]any{"id": ""}}); got.Environment != nil {
		t.Errorf("%+v", got.Environment)
	}
	refusedWith(t, h.ann, 404, "PATCH", one, map[string]any{"environment": map[string]any{"id": claudehub.NewEnvironmentID()}})
	if got := do[claudehub.Session](t, h.ann, 200, "POST", one+"/ports", claudehub.Forward{Port: 3000, Same: true}); len(got.Forwards) != 1 {
		t.Errorf("%+v", got.Forwards)
	}
	refusedWith(t, h.ann, 400, "POST", one+"/ports", map[string]any{"port": 70000, "same": false})
	if got := do[claudehub.Session](t, h.ann, 200, "DELETE", one+"/ports/3000", nil); len(got.Forwards) != 0 {
		t.Errorf("%+v", got.Forwards)
	}
	refusedWith(t, h.ann, 409, "DELETE", one, nil, "Archive it first")
	do[claudehub.Session](t, h.ann, 200, "POST", one+"/archive", nil)
	if got := do[claudehub.Session](t, h.ann, 200, "DELETE", one, nil); got.Desired != claudehub.WantDeleted {
		t.Errorf("%+v", got)
	}
	refusedWith(t, h.ann, 409, "POST", one+"/unarchive", nil, "being deleted")
}

// The Runner's stream brings builds and what is to be reclaimed as machine, in the order of their numbers, and again
// after the id that the Runner had last.
func TestTheMachineOnTheStream(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.annR, "")
	var snap wire.Snapshot
	if err := json.Unmarshal(next(t, s, wire.EventSnapshot).Data, &snap); err != nil || len(snap.Machine.Builds) != 1 || snap.Machine.What == nil {
		t.Fatalf("%+v %v", snap.Machine, err)
	}
	runner := do[claudehub.Runner](t, h.ann, 200, "POST", "/api/runners/"+string(h.annR.ID)+"/reclaim", map[string]any{"what": []string{"image"}})
	if runner.Reclaim != 1 || runner.Machine.Storage.Items == nil || runner.Machine.Networks == nil {
		t.Errorf("%+v", runner)
	}
	e := next(t, s, wire.EventMachine)
	var m wire.DesiredMachine
	if err := json.Unmarshal(e.Data, &m); err != nil || m.Reclaim != 1 || e.ID != strconv.FormatInt(m.Seq, 10) || m.Seq <= snap.Seq {
		t.Fatalf("%s %s %v", e.ID, e.Data, err)
	}
	s.Close()
	// While it is away: a change of the machine between two of Sessions.
	do[claudehub.Session](t, h.ann, 200, "POST", "/api/sessions/"+string(h.annS.ID)+"/sleep", nil)
	do[claudehub.Build](t, h.ann, 200, "POST", "/api/builds/"+string(h.annB.ID)+"/cancel", nil)
	do[claudehub.Session](t, h.ann, 201, "POST", "/api/sessions", map[string]any{"runner": h.annR.ID})
	resumed := open(t, h.annR, e.ID)
	last := m.Seq
	for _, kind := range []string{wire.EventDesired, wire.EventMachine, wire.EventDesired} {
		e := next(t, resumed, kind)
		seq, err := strconv.ParseInt(e.ID, 10, 64)
		if err != nil || seq <= last {
			t.Errorf("%s with id %s after %d", kind, e.ID, last)
		}
		last = seq
	}
}

func TestABuildOverHTTP(t *testing.T) {
	h := newHouse(t)
	s := open(t, h.annR, "")
	next(t, s, wire.EventSnapshot)
	ctx := within(t, 30*time.Second)
	id := h.annB.ID
	if got := do[claudehub.Build](t, h.ann, 201, "POST", "/api/environments/"+string(h.annE.ID)+"/builds", map[string]any{"runner": h.annR.ID}); got.ID != id {
		t.Error("an open build is not shared")
	}
	path := "/api/builds/" + string(id)
	text := "line 1\n" + strings.Repeat("é\x1b[31m", 1000)
	reply, err := h.annR.BuildLog(ctx, id, 0, []byte(text))
	if err != nil || reply.Offset != int64(len(text)) {
		t.Fatalf("%+v %v", reply, err)
	}
	log := follow(t, h, path+"/log?from=5", "")
	part := nextLog(t, log)
	if part.Offset != 5 || string(part.Data) != text[5:] {
		t.Errorf("from %d: %q", part.Offset, part.Data)
	}
	more := "more\n"
	if _, err = h.annR.BuildLog(ctx, id, int64(len(text)), []byte(more)); err != nil {
		t.Fatal(err)
	}
	if part = nextLog(t, log); string(part.Data) != more {
		t.Errorf("%+v", part)
	}
	o := wire.ObservedBuild{ID: id, Environment: h.annE.ID, Version: 1, Hash: h.annB.Hash, State: claudehub.BuildFailed,
		Failure: &claudehub.Failure{Step: "Setup", Reason: "it ended with 1"}, Line: 2, Kept: time.Now().Add(time.Hour)}
	if _, err := h.annR.Status(ctx, wire.Status{Builds: []wire.ObservedBuild{o}}); err != nil {
		t.Fatal(err)
	}
	if e, err := log.Next(); err != nil || e.Kind != "end" {
		t.Fatalf("%+v %v", e, err)
	}
	if e, err := log.Next(); err == nil {
		t.Errorf("after the end comes %+v", e)
	}
	// A browser that connects again says what it had last.
	again := follow(t, h, path+"/log", strconv.Itoa(len(text)))
	if part = nextLog(t, again); part.Offset != int64(len(text)) || string(part.Data) != more {
		t.Errorf("%+v", part)
	}
	a := h.ann.Do("GET", path+"/log.txt", nil)
	if a.Status != 200 || string(a.Body) != text+more || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") ||
		a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %v %d bytes", a.Status, a.Header, len(a.Body))
	}
	refusedWith(t, h.ann, 400, "GET", path+"/log?from=x", nil)
	got := do[claudehub.Build](t, h.ann, 200, "GET", path, nil)
	if got.State != claudehub.BuildFailed || got.Line != 2 || got.LogBytes != int64(len(text+more)) {
		t.Errorf("%+v", got)
	}
	refusedWith(t, h.ann, 409, "POST", path+"/cancel", nil, "failed")
	look := do[claudehub.Session](t, h.ann, 201, "POST", path+"/look", nil)
	if look.Kind != claudehub.KindLook || do[claudehub.Session](t, h.ann, 201, "POST", path+"/look", nil).ID != look.ID {
		t.Errorf("%+v", look)
	}
	refusedWith(t, h.ann, 409, "POST", "/api/sessions/"+string(look.ID)+"/sleep", nil, "cannot sleep")
	if got := do[listOf[claudehub.Build]](t, h.ann, 200, "GET", "/api/environments/"+string(h.annE.ID)+"/builds", nil); len(got.Items) != 1 {
		t.Errorf("%+v", got)
	}
}

func follow(t *testing.T, h *house, path, last string) *runnertest.Stream {
	t.Helper()
	return followAs(t, h.URL+path, map[string]string{"Cookie": h.ann.Cookie.String(), "Last-Event-ID": last})
}

func followAs(t *testing.T, url string, header map[string]string) *runnertest.Stream {
	t.Helper()
	req, err := http.NewRequestWithContext(within(t, 30*time.Second), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", res, err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return runnertest.Read(res.Body)
}

type logPart struct {
	Offset int64
	Data   []byte
}

func nextLog(t *testing.T, s *runnertest.Stream) (p logPart) {
	t.Helper()
	e := next(t, s, "log")
	if err := json.Unmarshal(e.Data, &p); err != nil || e.ID != strconv.FormatInt(p.Offset+int64(len(p.Data)), 10) {
		t.Fatalf("%s %s %v", e.ID, e.Data, err)
	}
	return p
}

func TestVariablesOverHTTP(t *testing.T) {
	h := newHouse(t)
	const value = "hunter2-in-clear"
	env, repos := "/api/environments/"+string(h.annE.ID)+"/variables", "/api/repo-variables"
	v := do[claudehub.Variable](t, h.ann, 200, "PUT", env+"/TOKEN", map[string]any{"value": value, "secret": true})
	if v.Value != "" || v.Bytes != len(value) || !v.Secret {
		t.Errorf("%+v", v)
	}
	do[claudehub.Variable](t, h.ann, 200, "PUT", repos+"/PLAIN?repo=github.com/o/n", map[string]any{"value": "a\nb", "secret": false})
	if got := do[listOf[claudehub.Variable]](t, h.ann, 200, "GET", repos+"?repo=https://github.com/O/n.git", nil); len(got.Items) != 1 || got.Items[0].Value != "a\nb" {
		t.Errorf("%+v", got)
	}
	if got := do[listOf[map[string]any]](t, h.ann, 200, "GET", repos+"/repos", nil); len(got.Items) != 1 || got.Items[0]["repo"] != "github.com/o/n" {
		t.Errorf("%+v", got)
	}
	refusedWith(t, h.ann, 400, "PUT", env+"/LD_PRELOAD", map[string]any{"value": "x", "secret": false}, "LD_PRELOAD cannot be a Variable", "which programs run")
	refusedWith(t, h.ann, 413, "PUT", env+"/BIG", map[string]any{"value": strings.Repeat("x", 200<<10), "secret": false}, "BIG has 200 KB")
	refusedWith(t, h.ann, 413, "PUT", env+"/HUGE", map[string]any{"value": strings.Repeat("x", 2<<20), "secret": false})
	refusedWith(t, h.ann, 400, "GET", repos+"?repo=x", nil, "github.com/owner/name")
	refusedWith(t, h.ann, 400, "GET", repos, nil)
	if a := h.ann.Do("GET", env, nil); strings.Contains(string(a.Body), value) {
		t.Errorf("%s", a.Body)
	}

	s := do[claudehub.Session](t, h.ann, 201, "POST", "/api/sessions", map[string]any{"runner": h.annR.ID, "environment": map[string]any{"id": h.annE.ID}})
	ctx := within(t, 20*time.Second)
	if _, err := h.annR.Variables(ctx, s.ID); status(err) != http.StatusConflict {
		t.Errorf("without the lease: %v", err)
	}
	stream := open(t, h.annR, "")
	next(t, stream, wire.EventSnapshot)
	theirs := open(t, h.bobR, "")
	next(t, theirs, wire.EventSnapshot)
	got, err := h.annR.Variables(ctx, s.ID)
	if err != nil || len(got.Items) != 1 || got.Items[0].Value != value || got.Revision == "" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := h.annR.BuildVariables(ctx, h.annB.ID); err != nil || len(got.Items) != 1 {
		t.Errorf("%+v %v", got, err)
	}
	// Another Runner, and what nobody has, look alike.
	_, mine := h.bobR.Variables(ctx, s.ID)
	_, none := h.bobR.Variables(ctx, claudehub.NewSessionID())
	_, build := h.bobR.BuildVariables(ctx, h.annB.ID)
	_, noBuild := h.bobR.BuildVariables(ctx, claudehub.NewBuildID())
	_, log := h.bobR.BuildLog(ctx, h.annB.ID, 0, []byte("x"))
	_, noLog := h.bobR.BuildLog(ctx, claudehub.NewBuildID(), 0, []byte("x"))
	for _, pair := range [][2]error{{mine, none}, {build, noBuild}, {log, noLog}} {
		if status(pair[0]) != http.StatusNotFound || fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Errorf("%v, %v", pair[0], pair[1])
		}
	}
	if _, err := h.annR.BuildLog(ctx, h.annB.ID, 0, bytes.Repeat([]byte("x"), wire.MaxLogChunk+1)); status(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("a large piece: %v", err)
	}
	if a := h.ann.Do("DELETE", env+"/TOKEN", nil); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := h.ann.Do("DELETE", repos+"/PLAIN?repo=github.com/o/n", nil); a.Status != 204 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	stream.Close()
	theirs.Close()
	h.Stop()
	if strings.Contains(h.log.String(), value) {
		t.Error("the value is in the log")
	}
}

func status(err error) int {
	var r *runnertest.Refused
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

func TestSeedsOverHTTP(t *testing.T) {
	h := newHouse(t)
	type seed struct {
		Name          string
		Recipe        claudehub.Recipe
		Understood    []struct{ What, Became string }
		NotUnderstood []struct{ What, Why string } `json:"not_understood"`
	}
	got := do[seed](t, h.ann, 200, "POST", "/api/environments/seed", map[string]any{"path": "d.json",
		"json": `{"name": "n", "image": "debian:bookworm", "features": {"./a": {}}, "mounts": []} // c`, "files": map[string]string{"a/install.sh": "true"}})
	if got.Name != "n" || got.Recipe.Base.Ref != "debian:bookworm" || len(got.Understood) != 3 || len(got.NotUnderstood) != 1 {
		t.Errorf("%+v", got)
	}
	refusedWith(t, h.ann, 400, "POST", "/api/environments/seed", map[string]any{}, "repository")
	refusedWith(t, h.ann, 400, "POST", "/api/environments/seed", map[string]any{"json": "{"}, "line 1")
	refusedWith(t, h.ann, 404, "POST", "/api/environments/seed", map[string]any{"repo": "github.com/o/n"}, "github.com/o/n")
	if got := do[listOf[any]](t, h.ann, 200, "GET", "/api/seeds", nil); got.Items == nil || len(got.Items) != 0 {
		t.Errorf("%+v", got)
	}
}

// Pages hear of Environments and builds, and of what is theirs alone.
func TestEventsOfEnvironmentsAndBuilds(t *testing.T) {
	h := newHouse(t)
	events := follow(t, h, "/api/events", "")
	next(t, events, "ready")
	if _, err := h.Fleet.CreateEnvironment(t.Context(), h.bob.Person.ID, "bob's", claudehub.DefaultRecipe()); err != nil {
		t.Fatal(err)
	}
	do[claudehub.Environment](t, h.ann, 200, "PATCH", "/api/environments/"+string(h.annE.ID), map[string]any{"name": "renamed", "base_version": 1})
	var e claudehub.Environment
	if err := json.Unmarshal(next(t, events, "environment").Data, &e); err != nil || e.Name != "renamed" {
		t.Errorf("%+v %v", e, err)
	}
	do[claudehub.Build](t, h.ann, 200, "POST", "/api/builds/"+string(h.annB.ID)+"/cancel", nil)
	var b claudehub.Build
	if err := json.Unmarshal(next(t, events, "build").Data, &b); err != nil || b.ID != h.annB.ID || !b.Cancelling {
		t.Errorf("%+v %v", b, err)
	}
}
