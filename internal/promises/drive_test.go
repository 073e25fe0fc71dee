//go:build linux

package promises_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/standin/anthropic"
	"claude-hub/internal/wire"
)

// other is somebody else on the Hub, signed in.
type other struct {
	id     claudehub.PersonID
	cookie string
}

// database opens the Hub's, beside the running Hub, as its operator could.
func (s *scene) database(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), "sqlite:"+filepath.Join(s.Home, "hub", "hub.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// stranger adds a person who is signed in and whom nothing is shared with; participant, one whom the Session is shared with.
func (s *scene) stranger(t *testing.T, st *store.Store, login string) other {
	t.Helper()
	token, now := claudehub.NewToken(claudehub.BrowserToken), time.Now()
	o := other{claudehub.NewPersonID(), token.Reveal()}
	err := st.Write(t.Context(), func(q store.Q) error {
		if err := q.AddPerson(t.Context(), claudehub.Person{ID: o.id, Login: login, Name: login, Created: now}); err != nil {
			return err
		}
		return q.AddSignIn(t.Context(), store.SignIn{ID: "sig_" + claudehub.NewNonce(), Hash: token.Hash(), Person: o.id, Created: now, LastUsed: now})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.more[login+"'s cookie"] = o.cookie
	return o
}

func (s *scene) participant(t *testing.T, st *store.Store, login string) other {
	t.Helper()
	o := s.stranger(t, st, login)
	err := st.Write(t.Context(), func(q store.Q) error {
		_, err := q.AddShare(t.Context(), s.session, o.id, false, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// bodies are what the routes that drive take, so that no answer is about the body.
var bodies = map[string]string{
	"update-session": `{"title":"Taken over"}`, "add-prompt": `{"text":"sent-by-another"}`, "forward-port": `{"port":3000,"same":false}`,
	"share-session": `{"login":"local"}`, "make-suggestion": `{"text":"suggested"}`,
}

// watching are routes below a Session which change something and are a Participant's.
var watching = []string{"make-suggestion"}

// TestOnlyTheCreatorDrives is promise 5, of the programs as they are built: whatever changes a Session is refused to who is
// not its Creator, in the words for what is not there when nothing of it is shared with them. Then the Hub's check is gone
// around, by a prompt of another's in its database, and the Runner refuses.
func TestOnlyTheCreatorDrives(t *testing.T) {
	s := theScene(t)
	st := s.database(t)
	stranger, participant := s.stranger(t, st, "stranger"), s.participant(t, st, "participant")
	before := s.account(t.Context(), t)
	t.Run("at the Hub", func(t *testing.T) {
		tried := 0
		for _, r := range routes(t) {
			if !strings.HasPrefix(r.path, "/api/sessions/{id}") {
				continue
			}
			changes := r.method != http.MethodGet
			if status, body := s.ask(t.Context(), t, r, bodies[r.id], cookie(stranger.cookie)); status != http.StatusNotFound {
				t.Errorf("%s by a stranger: %d %s", r, status, body)
			}
			if changes && !slices.Contains(watching, r.id) {
				if status, body := s.ask(t.Context(), t, r, bodies[r.id], cookie(participant.cookie)); status != http.StatusForbidden {
					t.Errorf("%s by a Participant: %d %s", r, status, body)
				}
				tried++
			}
		}
		if tried < 12 {
			t.Errorf("only %d routes change a Session: the search does not see", tried)
		}
		if after := s.account(t.Context(), t); after != before {
			t.Errorf("something changed:\n%s\nwas\n%s", after, before)
		}
	})
	t.Run("at the terminal", func(t *testing.T) { s.typesNothing(t, participant, stranger) })
	t.Run("at the Runner", func(t *testing.T) { s.refusesAgain(t, st, participant) })
}

// dial opens a Session's terminal as somebody.
func (s *scene) dial(ctx context.Context, t *testing.T, o other) (*websocket.Conn, int) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(u, []*http.Cookie{{Name: "claude_hub", Value: o.cookie}})
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL, "http")+s.path("terminal"), &websocket.DialOptions{
		HTTPClient: &http.Client{Jar: jar}, Subprotocols: []string{"claude-hub.terminal.v1"}, HTTPHeader: http.Header{"Origin": {s.URL}},
	})
	if resp == nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		resp.Body.Close()
	}
	if err != nil {
		return nil, resp.StatusCode
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(2 << 20)
	return conn, resp.StatusCode
}

// typesNothing: a Participant sees the terminal and is told that they may not type; what they type is refused, and does
// not reach Claude. A stranger finds no terminal.
func (s *scene) typesNothing(t *testing.T, participant, stranger other) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if conn, status := s.dial(ctx, t, stranger); conn != nil || status != http.StatusNotFound {
		t.Errorf("a stranger's terminal: %d", status)
	}
	conn, status := s.dial(ctx, t, participant)
	if conn == nil {
		t.Fatalf("a Participant's terminal: %d", status)
	}
	send := func(m wire.TerminalUp) {
		b, err := json.Marshal(m)
		if err == nil {
			err = conn.Write(ctx, websocket.MessageText, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	send(wire.TerminalUp{Type: "hello", Terminal: claudehub.NewNonce(), Cols: 77, Rows: 22, Active: true})
	typed := false
	for {
		kind, b, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("what a Participant types is not answered (it was typed: %t): %v", typed, err)
		}
		if kind == websocket.MessageBinary {
			f, err := wire.ReadFrame(strings.NewReader(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			if !typed && f.Life != "" { // the screen is there
				typed = true
				send(wire.TerminalUp{Type: "keys", N: 1, Life: f.Life, Data: base64.StdEncoding.EncodeToString([]byte("typed-by-another\r"))})
			}
			continue
		}
		var m wire.TerminalDown
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if m.State != nil && m.State.Drive {
			t.Error("a Participant is told that they may type")
		}
		if m.Input != nil && m.Input.State != wire.InputRefused {
			t.Fatalf("what a Participant typed is %+v", m.Input)
		}
		if m.Type == "refused" && !typed {
			t.Fatalf("a Participant may not even watch: %s", m.Why)
		}
		if m.Input != nil || m.Type == "refused" {
			break
		}
	}
	if screen := string(s.inSandbox(t, `tmux -S /tmp/claude-hub-* capture-pane -p -S -`)); strings.Contains(screen, "typed-by-another") || !strings.Contains(screen, inTheBox) {
		t.Errorf("the terminal shows\n%s", screen)
	}
}

// refusesAgain puts a prompt of another's where the Hub would never put one, and lets it reach the Runner with the next
// desired state.
func (s *scene) refusesAgain(t *testing.T, st *store.Store, o other) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const text = "put-in-by-another"
	now := time.Now()
	forged := claudehub.Prompt{ID: claudehub.NewPromptID(), Session: s.session, Author: o.id, Text: text, State: claudehub.PromptQueued,
		Created: now, Updated: now, Expires: now.Add(time.Hour)}
	if err := st.Write(ctx, func(q store.Q) error { return q.AddPrompt(ctx, forged, "") }); err != nil {
		t.Fatal(err)
	}
	if status, body := s.ask(ctx, t, route{method: http.MethodPatch, path: "/api/sessions/{id}"}, `{"title":"`+title+`, again"}`, cookie(s.Secrets()["browser cookie"])); status != http.StatusOK {
		t.Fatalf("the Creator's change: %d %s", status, body)
	}
	for {
		all, err := s.list(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(all, func(p claudehub.Prompt) bool { return p.ID == forged.ID })
		if at < 0 {
			t.Fatal("the Hub does not list the prompt")
		}
		if p := all[at]; p.State == claudehub.PromptFailed && strings.Contains(p.Why, "Creator") {
			break
		} else if p.State != claudehub.PromptQueued {
			t.Fatalf("the prompt is %s: %s", p.State, p.Why)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the Runner does not refuse it: %s", s.Log("runner"))
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.awaitStandIn(ctx, t, "only what the Creator sent", func(l anthropic.Log) bool {
		return len(l.Prompts) == 2 && !slices.ContainsFunc(l.Prompts, func(p anthropic.Prompt) bool { return strings.Contains(p.Text, text) })
	})
	if screen := string(s.inSandbox(t, `tmux -S /tmp/claude-hub-* capture-pane -p -S -`)); strings.Contains(screen, text) || !strings.Contains(screen, inTheBox) {
		t.Errorf("the terminal shows\n%s", screen)
	}
}
