package claudehub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"claude-hub/internal/claudehub"
)

func TestIDs(t *testing.T) {
	before := claudehub.NewSessionID()
	for range 1000 {
		id := claudehub.NewSessionID()
		if got, err := claudehub.ParseSessionID(string(id)); err != nil || got != id {
			t.Fatalf("%s: %v", id, err)
		}
		if id <= before {
			t.Fatalf("%s does not come after %s", id, before)
		}
		before = id
	}
	for _, bad := range []string{"", "ses_", string(before) + "x", strings.ToUpper(string(before)), "run_" + string(before)[4:], string(before)[:29] + ".", string(before)[:29] + "*", "../" + string(before)} {
		if _, err := claudehub.ParseSessionID(bad); claudehub.CodeOf(err) != claudehub.NotFound {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if a, b := claudehub.EventIDOf("x"), claudehub.EventIDOf("x"); a != b || a == claudehub.EventIDOf("y") {
		t.Errorf("%s %s", a, b)
	}
	if _, err := claudehub.ParseEventID(string(claudehub.EventIDOf("x"))); err != nil {
		t.Error(err)
	}
	if !claudehub.ValidClaudeID(claudehub.NewClaudeID()) || claudehub.ValidClaudeID("../../etc/passwd") {
		t.Error("conversation ids")
	}
}

func TestTokensAreWhatTheySay(t *testing.T) {
	token := claudehub.NewToken(claudehub.RunnerToken)
	clear := token.Reveal()
	if got, err := claudehub.ParseToken(claudehub.RunnerToken, clear); err != nil || got != token || got.Hash() != token.Hash() {
		t.Errorf("%v", err)
	}
	if claudehub.NewToken(claudehub.RunnerToken).Hash() == token.Hash() {
		t.Error("two tokens are one")
	}
	// One character changed anywhere is noticed, whichever it is.
	for i := range clear {
		other := []byte(clear)
		other[i] = 'A'
		if clear[i] == 'A' {
			other[i] = 'B'
		}
		if _, err := claudehub.ParseToken(claudehub.RunnerToken, string(other)); claudehub.CodeOf(err) != claudehub.Unauthenticated {
			t.Errorf("changed at %d: %v", i, err)
		}
	}
	if _, err := claudehub.ParseToken(claudehub.BrowserToken, clear); err == nil {
		t.Error("a Runner's token passed for a browser's")
	}
}

func TestTokensNeverPrint(t *testing.T) {
	token := claudehub.NewToken(claudehub.RunnerToken)
	secret := token.Reveal()[4:]
	j, err := json.Marshal(map[string]any{"t": token})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		fmt.Sprint(token), fmt.Sprintf("%v %+v %#v %s %q", token, token, token, token, token), string(j), token.LogValue().String(),
		fmt.Sprintf("%v %+v", struct{ T claudehub.Token }{token}, &token),
	} {
		if strings.Contains(s, secret) {
			t.Errorf("printed: %s", s)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(claudehub.NewToken(claudehub.RunnerToken).Reveal())
	f.Add("chr_")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := claudehub.ParseToken(claudehub.RunnerToken, s)
		if err == nil && token.Reveal() != s {
			t.Errorf("%q became another token", s)
		}
		if err != nil && len(s) > 8 && strings.Contains(err.Error(), s) {
			t.Error("the error holds what was presented")
		}
	})
}

// TestPromptStatesOnlyGoForward walks every pair of states.
func TestPromptStatesOnlyGoForward(t *testing.T) {
	all := []claudehub.PromptState{
		claudehub.PromptQueued, claudehub.PromptDelivered, claudehub.PromptAccepted, claudehub.PromptDone,
		claudehub.PromptExpired, claudehub.PromptCancelled, claudehub.PromptFailed,
	}
	allowed := map[claudehub.PromptState][]claudehub.PromptState{
		claudehub.PromptQueued:    all[1:],
		claudehub.PromptDelivered: all[2:],
		claudehub.PromptAccepted:  all[3:],
		claudehub.PromptDone:      nil,
		// It was given up, and turned out to have reached Claude before that.
		claudehub.PromptExpired:   {claudehub.PromptAccepted, claudehub.PromptDone},
		claudehub.PromptCancelled: {claudehub.PromptAccepted, claudehub.PromptDone},
		claudehub.PromptFailed:    {claudehub.PromptAccepted, claudehub.PromptDone},
	}
	for _, from := range all {
		for _, to := range all {
			if got, want := from.Next(to), slices.Contains(allowed[from], to); got != want {
				t.Errorf("%s → %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

func TestSources(t *testing.T) {
	for _, good := range []claudehub.Source{
		{}, {GitURL: "https://example.org/a/b.git"}, {GitURL: "https://example.org/a", Branch: "feature/x-1"}, {GitURL: "git@example.org:a/b"},
		{GitURL: "ssh://git@example.org:22/a"}, {GitURL: "git://127.0.0.1:9418/a"}, {GitURL: "http://127.0.0.1:1/a"}, {GitURL: "https://me@example.org/a"},
	} {
		if err := claudehub.ValidSource(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []claudehub.Source{
		{Branch: "main"}, {GitURL: "--upload-pack=evil"}, {GitURL: "ext::sh -c evil"}, {GitURL: "file:///etc"}, {GitURL: "/etc"}, {GitURL: "https://"},
		{GitURL: "https://me:secret@example.org/a"}, {GitURL: "https://example.org/a\nb"}, {GitURL: "https://example.org/" + strings.Repeat("a", 3000)},
		{GitURL: "https://example.org/a", Branch: "--evil"}, {GitURL: "https://example.org/a", Branch: "a..b"}, {GitURL: "https://example.org/a", Branch: "a b"},
		{GitURL: "-oProxyCommand=evil@example.org:a"}, {GitURL: "-x@example.org:a"}, {GitURL: "git@-x:a"}, {GitURL: "git@example.org:-x"},
	} {
		err := claudehub.ValidSource(bad)
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%+v: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error("the error repeats a password")
		}
	}
}

func TestModelsAndEfforts(t *testing.T) {
	for _, m := range append(slices.Clone(claudehub.Models), "claude-sonnet-4-5-20250929", "claude-opus-4-1[1m]") {
		if err := claudehub.ValidModel(m); err != nil {
			t.Error(err)
		}
	}
	for _, m := range []string{"", "gpt", "--help", "claude-", "claude-a b", "claude-" + strings.Repeat("a", 200), "Claude-x"} {
		if claudehub.ValidModel(m) == nil {
			t.Errorf("%q passed", m)
		}
	}
	if claudehub.ValidEffort("max") != nil || claudehub.ValidEffort("extreme") == nil {
		t.Error("efforts")
	}
}

func TestSizesZeroAboveAll(t *testing.T) {
	for size, ok := range map[[2]int]bool{{80, 24}: true, {2, 2}: true, {1000, 500}: true, {0, 0}: false, {0, 24}: false, {80, 0}: false, {-1, 24}: false, {1001, 24}: false} {
		if err := claudehub.ValidSize(size[0], size[1]); (err == nil) != ok {
			t.Errorf("%v: %v", size, err)
		}
	}
}

func FuzzTitleFrom(f *testing.F) {
	f.Add("fix the flaky test\nplease", "https://example.org/a/b.git")
	f.Add("", "git@example.org:owner/repository")
	f.Add("\x1b[2J한글 🙂", "")
	f.Add("", "https://:/")
	f.Add("\x00 \x00", "")
	f.Add("\uFFFD", "https://example.org/ .git")
	f.Add("\x00\nthe second line", "")
	f.Fuzz(func(t *testing.T, prompt, url string) {
		if !utf8.ValidString(prompt) || claudehub.ValidSource(claudehub.Source{GitURL: url}) != nil {
			t.Skip("refused before a title is made")
		}
		title := claudehub.TitleFrom(prompt, claudehub.Source{GitURL: url})
		if err := claudehub.ValidTitle(title); err != nil {
			t.Errorf("%q from %q and %q: %v", title, prompt, url, err)
		}
	})
}

func TestErrors(t *testing.T) {
	cause := errors.New("the disk said no")
	err := fmt.Errorf("save: %w", claudehub.WithCause(claudehub.Unavailable, cause, "It could not be saved."))
	if claudehub.CodeOf(err) != claudehub.Unavailable || claudehub.MessageOf(err) != "It could not be saved." || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if claudehub.CodeOf(cause) != claudehub.Internal || strings.Contains(claudehub.MessageOf(cause), "disk") || claudehub.CodeOf(nil) != "" {
		t.Error("an error without a sentence shows its text to the person")
	}
}
