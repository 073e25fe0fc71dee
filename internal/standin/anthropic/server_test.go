package anthropic_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/internal/standin/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "sk-ant-oat01-for-the-test-alone"

// far is a stand-in behind a real connection.
type far struct {
	t      *testing.T
	server *anthropic.Server
	url    string
}

func start(t *testing.T, script string) far {
	t.Helper()
	o := anthropic.Options{Token: token}
	if script != "" {
		s, err := anthropic.ParseScript([]byte(script))
		if err != nil {
			t.Fatal(err)
		}
		o.Script = s
	}
	server, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		h.CloseClientConnections()
		h.Close()
	})
	return far{t: t, server: server, url: h.URL}
}

// reply is an answer whose body the test's end closes.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

func (f far) do(ctx context.Context, method, path, body string) reply {
	f.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { res.Body.Close() })
	return reply{res.StatusCode, res.Header, res.Body}
}

func (f far) read(r reply) string {
	f.t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// ask is a request as Claude Code makes one: a tool, the reminders around the text, a system message last.
func ask(stream bool, text string, more ...string) string {
	b, _ := json.Marshal(text)
	msgs := append([]string{`{"role":"user","content":[{"type":"text","text":"<system-reminder>today is Sunday</system-reminder>"},{"type":"text","text":` + string(b) + `}]}`,
		`{"role":"system","content":"agents: none"}`}, more...)
	s := "false"
	if stream {
		s = "true"
	}
	return `{"model":"claude-opus-4-8","stream":` + s + `,"tools":[{"name":"Bash"}],"output_config":{"effort":"high"},"messages":[` + strings.Join(msgs, ",") + `]}`
}

func toolResult(text string) []string {
	return []string{`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + text + `"},{"type":"text","text":"<system-reminder>be brief</system-reminder>"}]}`}
}

type event struct {
	name string
	data struct {
		Message struct{ Model string }
		Index   int
		Block   struct{ Type, Name string } `json:"content_block"`
		Delta   struct {
			Type, Text string
			Partial    string `json:"partial_json"`
			Stop       string `json:"stop_reason"`
		}
		Error struct{ Type, Message string }
	}
}

func events(t *testing.T, r io.Reader) []event {
	t.Helper()
	var all []event
	var e event
	for sc := bufio.NewScanner(r); sc.Scan(); {
		name, data, _ := strings.Cut(sc.Text(), ": ")
		switch name {
		case "event":
			e = event{name: data}
		case "data":
			if err := json.Unmarshal([]byte(data), &e.data); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			all = append(all, e)
		}
	}
	return all
}

func joined(all []event) (text, input, stop string) {
	for _, e := range all {
		text += e.data.Delta.Text
		input += e.data.Delta.Partial
		stop += e.data.Delta.Stop
	}
	return text, input, stop
}

func TestEchoStreams(t *testing.T) {
	f := start(t, "")
	res := f.do(t.Context(), "POST", "/v1/messages?beta=true", ask(true, "grüße 🙂"))
	if got := res.Header.Get("X-Stand-In"); got != "anthropic" {
		t.Errorf("X-Stand-In = %q", got)
	}
	all := events(t, res.Body)
	text, _, stop := joined(all)
	if text != "stand-in: you said: grüße 🙂" || stop != "end_turn" {
		t.Errorf("text %q, stop %q", text, stop)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.name)
	}
	want := "message_start content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("events\n%s, want\n%s", got, want)
	}
}

func TestWholeAnswer(t *testing.T) {
	f := start(t, `{"rules":[{"steps":[{"say":"a ${model} "},{"say":"b ${effort}"},{"tool":"Bash","input":{"command":"ls"}}]}]}`)
	res := f.do(t.Context(), "POST", "/v1/messages", ask(false, "x"))
	var got struct {
		Content []struct {
			Type, Text, Name string
			Input            map[string]string
		}
		Stop string `json:"stop_reason"`
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 2 || got.Content[0].Text != "a claude-opus-4-8 b high" || got.Content[1].Name != "Bash" ||
		got.Content[1].Input["command"] != "ls" || got.Stop != "tool_use" {
		t.Errorf("got %+v", got)
	}
}

// The answer after a tool follows from the request alone: a new server goes on where an old one was.
func TestToolsThenResult(t *testing.T) {
	script := `{"rules":[{"contains":"go","steps":[{"say":"One."},{"tool":"Bash","input":{"command":"echo ü","n":1}},{"tool":"Bash"},{"say":"Got ${result}."},{"tool":"Read"},{"say":"End."}]}]}`
	f := start(t, script)
	text, input, stop := joined(events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "go")).Body))
	if text != "One." || input != `{"command":"echo ü","n":1}{}` || stop != "tool_use" {
		t.Errorf("first: %q %q %q", text, input, stop)
	}
	f = start(t, script)
	history := toolResult("42")
	text, _, stop = joined(events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "go", history...)).Body))
	if text != "Got 42." || stop != "tool_use" {
		t.Errorf("second: %q %q", text, stop)
	}
	history = append(history, toolResult("43")...)
	text, _, stop = joined(events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "go", history...)).Body))
	if text != "End." || stop != "end_turn" {
		t.Errorf("third: %q %q", text, stop)
	}
	history = append(history, toolResult("44")...)
	if text, _, _ = joined(events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "go", history...)).Body)); !strings.Contains(text, "no more steps") {
		t.Errorf("fourth: %q", text)
	}
	log := f.server.Log()
	if len(log.Prompts) != 1 || log.Prompts[0].Starts != 0 || log.Prompts[0].Requests != 3 {
		t.Errorf("prompts %+v", log.Prompts)
	}
}

func TestWrongTokenIsRefusedRecordedAndNeverShown(t *testing.T) {
	f := start(t, "")
	for _, header := range []string{"", "Bearer ", "Bearer secret-that-is-wrong", "Basic " + token} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/messages", strings.NewReader(ask(true, "x")))
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body := f.read(reply{Body: res.Body})
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "authentication_error") {
			t.Errorf("%q: %d %s", header, res.StatusCode, body)
		}
	}
	f.read(f.do(t.Context(), "POST", "/v1/messages", ask(true, "x")))
	log := f.read(f.do(t.Context(), "GET", "/standin/log", ""))
	if strings.Contains(log, "secret-that-is-wrong") || strings.Contains(log, token) {
		t.Error("a token is in the log")
	}
	if got := f.server.Log().Failures; len(got) != 4 {
		t.Errorf("failures %q", got)
	}
}

func TestExpectations(t *testing.T) {
	f := start(t, `{"expect":{"model":"sonnet","effort":"^high$"}}`)
	if res := f.do(t.Context(), "POST", "/v1/messages", ask(true, "x")); res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", res.StatusCode)
	}
	if got := f.server.Log().Failures; len(got) != 1 || !strings.Contains(got[0], "claude-opus-4-8") {
		t.Errorf("failures %q", got)
	}
	ok := strings.ReplaceAll(ask(true, "x"), "opus", "sonnet")
	if res := f.do(t.Context(), "POST", "/v1/messages", ok); res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	if res := f.do(t.Context(), "POST", "/v1/messages", strings.ReplaceAll(ok, "high", "low")); res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestErrors(t *testing.T) {
	f := start(t, `{"rules":[
		{"contains":"401","steps":[{"error":401}]},
		{"contains":"429","steps":[{"error":429,"message":"slow down"}]},
		{"contains":"500","steps":[{"error":500}]},
		{"contains":"529","steps":[{"error":529,"times":2},{"say":"back"}]},
		{"contains":"late","steps":[{"say":"half"},{"error":529}]},
		{"contains":"cut","steps":[{"say":"half"},{"cut":true}]}]}`)
	post := func(text string) (int, string) {
		res := f.do(t.Context(), "POST", "/v1/messages", ask(true, text))
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(b)
	}
	for _, c := range []struct {
		say, in string
		status  int
	}{
		{"401", "authentication_error", 401}, {"429", "slow down", 429}, {"500", "api_error", 500},
		{"529", "overloaded_error", 529}, {"529", "overloaded_error", 529}, {"529", "back", 200},
		{"late", "event: error", 200}, {"cut", "half", 200},
	} {
		if status, body := post(c.say); status != c.status || !strings.Contains(body, c.in) {
			t.Errorf("%s: %d %s", c.say, status, body)
		}
	}
	_, body := post("cut")
	if strings.Contains(body, "message_stop") {
		t.Error("a cut answer has an end")
	}
	log := f.server.Log()
	if got := log.Requests[len(log.Requests)-1].Outcome; got != "cut" {
		t.Errorf("outcome %q", got)
	}
}

func TestHangUntilReleased(t *testing.T) {
	f := start(t, `{"rules":[{"contains":"hold","steps":[{"say":"Waiting. "},{"hang":"gate"},{"say":"Done."}]}]}`)
	res := f.do(t.Context(), "POST", "/v1/messages", ask(true, "hold"))
	r := bufio.NewReader(res.Body)
	for line := ""; !strings.Contains(line, "Waiting"); {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); len(f.server.Log().Hanging) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the answer does not hang")
		}
	}
	if got := f.read(f.do(t.Context(), "POST", "/standin/release?name=gate", "")); got != `{"released":1}` {
		t.Errorf("release: %s", got)
	}
	if text, _, stop := joined(events(t, r)); text != "Done." || stop != "end_turn" {
		t.Errorf("after release: %q %q", text, stop)
	}
	// One released before it comes does not hang at all.
	f.server.Release("gate")
	if text, _, _ := joined(events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "hold")).Body)); text != "Waiting. Done." {
		t.Errorf("released early: %q", text)
	}
}

// A caller that leaves frees what waited for it, and the log says so.
func TestCallerLeaves(t *testing.T) {
	f := start(t, `{"rules":[{"steps":[{"say":"x"},{"hang":"gate"}]}]}`)
	ctx, cancel := context.WithCancel(t.Context())
	res := f.do(ctx, "POST", "/v1/messages", ask(true, "hold"))
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if l := f.server.Log(); l.Requests[0].Outcome == "left" && len(l.Hanging) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("log %+v", f.server.Log())
		}
	}
}

func TestLongSlowStreamInPieces(t *testing.T) {
	f := start(t, `{"rules":[{"steps":[{"say":"é🙂${n}\n","repeat":300,"chunk":1,"delayMs":1}]}]}`)
	all := events(t, f.do(t.Context(), "POST", "/v1/messages", ask(true, "x")).Body)
	text, _, _ := joined(all)
	if !strings.HasPrefix(text, "é🙂1\né🙂2\n") || !strings.HasSuffix(text, "é🙂300\n") || strings.ContainsRune(text, '\uFFFD') {
		t.Errorf("text %q…", text[:20])
	}
	if len(all) < 1000 {
		t.Errorf("%d events", len(all))
	}
}

func TestAsideAndTheSmallEndpoints(t *testing.T) {
	f := start(t, "")
	title := `{"model":"claude-haiku-4-5","stream":false,"messages":[{"role":"user","content":"make a title"}],"output_config":{"format":{"type":"json_schema","schema":{"properties":{"title":{"type":"string"}}}}}}`
	if got := f.read(f.do(t.Context(), "POST", "/v1/messages", title)); !strings.Contains(got, `{\"title\":\"Stand-in session\"}`) {
		t.Errorf("title: %s", got)
	}
	if got := f.read(f.do(t.Context(), "POST", "/v1/messages/count_tokens", ask(false, "x"))); !strings.Contains(got, "input_tokens") {
		t.Errorf("count_tokens: %s", got)
	}
	if got := f.read(f.do(t.Context(), "GET", "/v1/models", "")); !strings.Contains(got, "Stand-in for claude-opus") {
		t.Errorf("models: %s", got)
	}
	if res := f.do(t.Context(), "HEAD", "/", ""); res.StatusCode != http.StatusOK {
		t.Errorf("HEAD /: %d", res.StatusCode)
	}
	if res := f.do(t.Context(), "GET", "/v1/files", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("unknown: %d", res.StatusCode)
	}
	if got := f.server.Log().Prompts; len(got) != 0 {
		t.Errorf("asides were counted as prompts: %+v", got)
	}
}

func TestPromptSentTwiceShows(t *testing.T) {
	f := start(t, "")
	f.read(f.do(t.Context(), "POST", "/v1/messages", ask(true, "once", `{"role":"assistant","content":"ok"}`, `{"role":"user","content":"once"}`)))
	p := f.server.Log().Prompts
	if len(p) != 1 || p[0].Occurrences != 2 || p[0].Starts != 1 {
		t.Errorf("prompts %+v", p)
	}
}

// After a failed answer, and after an interrupt, Claude Code puts the next prompt into the same message.
func TestNewestOfSeveralTexts(t *testing.T) {
	f := start(t, `{"rules":[{"contains":"old","steps":[{"say":"wrong"}]}]}`)
	body := ask(false, "x", `{"role":"user","content":[{"type":"text","text":"old"},{"type":"text","text":"[Request interrupted by user]"},{"type":"text","text":"new"},{"type":"text","text":"<system-reminder>r</system-reminder>"}]}`)
	if got := f.read(f.do(t.Context(), "POST", "/v1/messages", body)); !strings.Contains(got, "you said: new") {
		t.Error(got)
	}
	if q := f.server.Log().Requests[0]; q.Turns != 3 {
		t.Errorf("turns %d", q.Turns)
	}
}

func TestBadRequests(t *testing.T) {
	f := start(t, "")
	for _, body := range []string{"", "{", `{"messages":3}`, `[]`} {
		if res := f.do(t.Context(), "POST", "/v1/messages", body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", body, res.StatusCode)
		}
	}
	big := `{"model":"` + string(bytes.Repeat([]byte("x"), 65<<20)) + `"}`
	if res := f.do(t.Context(), "POST", "/v1/messages", big); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("big: %d", res.StatusCode)
	}
}

func TestBadScripts(t *testing.T) {
	for _, s := range []string{
		``, `{`, `[]`, `{"rulez":[]}`, `{} {}`, `{"rules":[{"steps":[]}]}`, `{"rules":[{"steps":[{}]}]}`,
		`{"rules":[{"steps":[{"say":"a","tool":"b"}]}]}`, `{"rules":[{"matches":"(","steps":[{"say":"a"}]}]}`,
		`{"rules":[{"steps":[{"error":7}]}]}`, `{"default":[{"say":"a","repeat":-1}]}`, `{"expect":{"model":"["}}`,
	} {
		if _, err := anthropic.ParseScript([]byte(s)); err == nil {
			t.Errorf("%s: no error", s)
		}
	}
}

// Whatever a script holds, it is refused or every answer of it comes to an end.
func FuzzScript(f *testing.F) {
	f.Add([]byte(`{"rules":[{"contains":"x","steps":[{"say":"a"},{"tool":"t"},{"error":529}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := anthropic.ParseScript(b)
		if err != nil {
			return
		}
		if _, err := anthropic.New(anthropic.Options{Script: s}); err != nil {
			t.Errorf("parsed and then refused: %v", err)
		}
	})
}
