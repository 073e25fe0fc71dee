package github_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/github"
	"claude-hub/internal/claudehub"
)

func TestParseAllowList(t *testing.T) {
	for text, want := range map[string]github.AllowList{
		"login:Ada":                           {Logins: []string{"ada"}},
		" login:ada,login:ADA\tlogin:bob\r\n": {Logins: []string{"ada", "bob"}},
		"org:acme # all of it\nteam:Acme/Platform.x # and login:eve": {Orgs: []string{"acme"}, Teams: []string{"acme/platform.x"}},
		"login:ada_corp login:ends-":                                 {Logins: []string{"ada_corp", "ends-"}},
	} {
		got, err := github.ParseAllowList(text)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") })); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{
		"", " ,\n", "# login:ada", "ada", "@ada", "login:", "login:-a", "login:a/b", "login:..", "login:a%2fb", "login:a?b", "login:é", "login:a login",
		"org:", "org:a/b", "org:.", "team:acme", "team:/x", "team:acme/", "team:acme/x/y", "team:acme/..", "team:acme/.x", "user:ada", "LOGIN:ada",
		"login:" + strings.Repeat("a", 101), "login:a\x00", "*", "org:*",
	} {
		if got, err := github.ParseAllowList(text); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	if _, err := github.ParseAllowList(strings.Repeat("x", 1<<20+1)); claudehub.CodeOf(err) != claudehub.TooLarge {
		t.Error(err)
	}
	var many, orgs strings.Builder
	for i := range 5001 {
		fmt.Fprintf(&many, "login:a%d ", i)
	}
	for i := range 51 {
		fmt.Fprintf(&orgs, "org:a%d ", i)
	}
	for _, text := range []string{many.String(), orgs.String()} {
		if _, err := github.ParseAllowList(text); claudehub.CodeOf(err) != claudehub.TooMany {
			t.Error(err)
		}
	}
}

func TestScopes(t *testing.T) {
	for text, want := range map[string]int{"login:ada": 0, "org:acme": 1, "team:acme/x": 1, "login:ada org:acme": 1} {
		if got := list(t, text).Scopes(); len(got) != want || (want == 1 && got[0] != "read:org") {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzParseAllowList: what is taken is plain, and reads back as itself.
func FuzzParseAllowList(f *testing.F) {
	for _, seed := range []string{"login:ada org:acme team:acme/platform", "login:a,#x\nlogin:b", "team:a/b/c", "login:\xff", "org:A org:a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := github.ParseAllowList(text)
		if err != nil {
			if claudehub.CodeOf(err) == claudehub.Internal || !a.Empty() {
				t.Fatalf("%v %v", a, err)
			}
			return
		}
		for _, name := range append(append(append([]string{}, a.Logins...), a.Orgs...), a.Teams...) {
			if strings.ContainsAny(name, "%?#\\ ") || strings.Contains(name, "..") && !strings.Contains(name, "/") || strings.Contains(name, "/.") || strings.Count(name, "/") > 1 {
				t.Fatalf("%q would become part of a path", name)
			}
		}
		again, err := github.ParseAllowList(a.String())
		if err != nil || again.String() != a.String() || a.Empty() {
			t.Fatalf("%q became %q: %v", a, again, err)
		}
	})
}
