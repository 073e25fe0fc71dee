package runner

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// authorship is what the Runner does about an author, for each thing that the Hub says on the stream, and why.
type authorship struct {
	author bool // it names one, who must be the Creator
	why    string
}

// ofEvents are all kinds of event.
var ofEvents = map[string]authorship{
	wire.EventInput:      {true, "it is typed into Claude"},
	wire.EventResize:     {true, "the terminal of who works with Claude changes"},
	wire.EventAttach:     {false, "it asks to see the screen, which goes to the Hub alone: who may watch there is the Hub's to say, and a watcher drives nothing"},
	wire.EventDetach:     {false, "it ends what an attach began"},
	wire.EventSnapshot:   {false, "it is desired states; each names its Creator, who cannot change, and its prompts name their authors"},
	wire.EventDesired:    {false, "as a snapshot, of one Session"},
	wire.EventMachine:    {false, "it is about the machine's images and disk, and opens no Session"},
	wire.EventSuperseded: {false, "it is about the link"},
	wire.EventRevoked:    {false, "it is about the link: it can end it, and drives nothing"},
}

// ofSession are all fields of a desired state. They are states, not acts: the Hub repeats them whole, so that not each names
// an author. By is who changed any of them last, and stands for all; the prompts name theirs one by one.
var ofSession = map[string]authorship{
	"Creator":      {true, "it is who all others are compared with; another one than at first is refused with all that comes with it"},
	"By":           {true, "it is who changed last what is desired; another than the Creator is refused with all that comes with it"},
	"Prompts":      {true, "each names who wrote it, and is put in front of Claude as the person's word"},
	"Seq":          {false, "a number of the stream"},
	"ID":           {false, "which Session it is about"},
	"Title":        {false, "it is shown, and typed nowhere"},
	"Source":       {false, "it is cloned at the first start alone"},
	"Desired":      {false, "By is asked for it"},
	"Model":        {false, "By is asked for it"},
	"Effort":       {false, "By is asked for it"},
	"Generation":   {false, "a number of the desired state"},
	"Kind":         {false, "what the Session is, from its first day"},
	"Build":        {false, "whose Sandbox is looked into, from its first day"},
	"Environment":  {false, "it takes effect at the next start"},
	"Variables":    {false, "a name of their state; what they are is asked for with the Runner's own token"},
	"Forwards":     {false, "they open ports on this machine's own loopback"},
	"Conversation": {false, "the old conversation stays on the disk, and the new one is empty"},
	"StopAt":       {false, "it interrupts a Turn, as sleep would, and says nothing to Claude"},
}

// TestEveryMessageSaysWhoMayDrive: what is new on the stream is given its line here, or this fails.
func TestEveryMessageSaysWhoMayDrive(t *testing.T) {
	kinds := eventKinds(t)
	for _, kind := range kinds {
		if _, ok := ofEvents[kind]; !ok {
			t.Errorf("nobody has said whether the event %q needs an author", kind)
		}
	}
	if len(kinds) != len(ofEvents) {
		t.Errorf("the stream has %d kinds of event, and the table %d", len(kinds), len(ofEvents))
	}
	fields := reflect.TypeFor[wire.DesiredSession]()
	for i := range fields.NumField() {
		if _, ok := ofSession[fields.Field(i).Name]; !ok {
			t.Errorf("nobody has said whether DesiredSession.%s needs an author", fields.Field(i).Name)
		}
	}
	if fields.NumField() != len(ofSession) {
		t.Errorf("a desired state has %d fields, and the table %d", fields.NumField(), len(ofSession))
	}
	for name, a := range ofEvents {
		if a.why == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	// Who needs an author has the field for it, of the type that MayDrive asks.
	person := reflect.TypeFor[claudehub.PersonID]()
	for _, m := range []reflect.Type{reflect.TypeFor[wire.Input](), reflect.TypeFor[wire.Resize](), reflect.TypeFor[claudehub.Prompt]()} {
		if f, ok := m.FieldByName("Author"); !ok || f.Type != person {
			t.Errorf("%s names no author", m)
		}
	}
}

// eventKinds are the constants of package wire that name a kind of event, from its source.
func eventKinds(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/wire/runner.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if ok && len(v.Names) == 1 && strings.HasPrefix(v.Names[0].Name, "Event") && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.Contains(lit.Value, "/") { // EventsPath is no kind
				kinds = append(kinds, strings.Trim(lit.Value, `"`))
			}
		}
		return true
	})
	if len(kinds) < 8 {
		t.Fatalf("only %v were found", kinds)
	}
	return kinds
}

// TestAuthorsAreAsked gives each message that drives to the Session, from its Creator and from others.
func TestAuthorsAreAsked(t *testing.T) {
	creator := claudehub.NewPersonID()
	for name, c := range map[string]struct {
		author claudehub.PersonID
		taken  bool
	}{
		"the Creator": {creator, true}, "another person": {claudehub.NewPersonID(), false}, "nobody": {"", false},
		"nearly the Creator": {creator + "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := testSession(t, wire.DesiredSession{Creator: creator, Desired: claudehub.WantAwake})
			s.inputs.add(wire.Input{Session: s.id, Author: c.author, Terminal: "tab", N: 1, Kind: wire.InputKeys, Data: []byte("x")})
			s.resize(wire.Resize{Session: s.id, Author: c.author, Cols: 33, Rows: 11})
			p := queued("a prompt")
			p.Author = c.author
			d := s.wanted()
			d.Prompts = append(d.Prompts, p)
			s.receivePrompts(t.Context(), d)
			s.receivePrompts(t.Context(), d) // as it comes again with the next desired state

			cols, _ := s.inputs.wantedSize()
			if queuedUp := len(s.inputs.c) == 1; queuedUp != c.taken {
				t.Errorf("input taken: %v", queuedUp)
			}
			if resized := cols == 33; resized != c.taken {
				t.Errorf("resized: %v", resized)
			}
			want := []claudehub.PromptState{claudehub.PromptFailed}
			if c.taken {
				want = []claudehub.PromptState{claudehub.PromptDelivered}
			}
			if got := reported(t, s); !slices.Equal(got, want) {
				t.Errorf("the prompt was reported as %v", got)
			}
			counted := map[driving]int{drivingInput: 1, drivingResize: 1, drivingPrompt: 1}
			if c.taken {
				counted = map[driving]int{}
			}
			if got := s.on.refused.counts; !reflect.DeepEqual(got, counted) {
				t.Errorf("counted %v", got)
			}
			if !c.taken && (len(s.screen.reports) != 1 || s.screen.reports[0].State != wire.InputRefused || !strings.Contains(s.screen.reports[0].Why, "Creator")) {
				t.Errorf("answered %+v", s.screen.reports)
			}
		})
	}
}

// TestPromptThatChangesHands: one that was the Creator's when it came, and is another's when its turn comes, is not sent.
func TestPromptThatChangesHands(t *testing.T) {
	p := queued("the Creator's")
	s := testSession(t, wire.DesiredSession{Desired: claudehub.WantAwake, Prompts: []claudehub.Prompt{p}})
	d := s.wanted()
	s.receivePrompts(t.Context(), d)
	d.Prompts = slices.Clone(d.Prompts)
	d.Prompts[0].Author, d.Prompts[0].Text = claudehub.NewPersonID(), "another's"
	s.want(d)
	if got, _, ok := s.nextPrompt(t.Context()); ok {
		t.Errorf("it would be sent: %q", got.Text)
	}
	if got := reported(t, s); !slices.Equal(got, []claudehub.PromptState{claudehub.PromptDelivered, claudehub.PromptFailed}) {
		t.Errorf("reported %v", got)
	}
	if s.named(p.ID) {
		t.Error("its text would be left in the box")
	}
}

// TestRefusedInputLeavesRoom: whoever is refused without end does not push out the answers to what the Creator typed.
func TestRefusedInputLeavesRoom(t *testing.T) {
	s := testSession(t, wire.DesiredSession{})
	for n := range uint64(2 * maxReports) {
		s.inputs.add(wire.Input{Session: s.id, Author: claudehub.NewPersonID(), Terminal: "stranger", N: n, Kind: wire.InputKeys})
	}
	s.screen.report(wire.InputReport{Terminal: "tab", Life: claudehub.NewNonce(), N: 1, State: wire.InputApplied})
	if got := s.screen.reports[len(s.screen.reports)-1]; got.Terminal != "tab" {
		t.Errorf("the last answer is %+v", got)
	}
	if len(s.inputs.c) != 0 {
		t.Errorf("%d inputs wait", len(s.inputs.c))
	}
}

// TestRefusalsAreSaidOnceAMinute, however many there are.
func TestRefusalsAreSaidOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said logs
		r := newRefusals(slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		lines := func() int { synctest.Wait(); return strings.Count(said.text(), "\n") }
		id := claudehub.NewSessionID()
		for range 500 {
			r.note(id, drivingInput)
			r.note(id, drivingResize)
		}
		if n := lines(); n != 0 {
			t.Errorf("%d lines at once", n)
		}
		time.Sleep(61 * time.Second)
		if n := lines(); n != 1 || !strings.Contains(said.text(), "inputs=500 resizes=500") || !strings.Contains(said.text(), string(id)) {
			t.Errorf("after a minute: %s", said.text())
		}
		time.Sleep(time.Hour)
		if n := lines(); n != 1 {
			t.Errorf("%d lines after an hour of peace", n)
		}
		r.note(id, drivingPrompt)
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := lines(); n != 2 || !strings.Contains(said.text(), "prompts=1") {
			t.Errorf("at the end: %s", said.text())
		}
	})
}
