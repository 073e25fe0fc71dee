package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/internal/claudehub"
)

// A program that lets Participants drive exists for one test alone: what people get is never built so.
func TestReleasesAreGuarded(t *testing.T) {
	if !policy.Guarded {
		t.Fatal("this program is built with the tag unguarded")
	}
	root := filepath.Join("..", "..", "..")
	for _, place := range []string{"build", ".ci"} {
		err := filepath.WalkDir(filepath.Join(root, place), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "unguarded") {
				t.Errorf("%s speaks of the tag unguarded", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// grants are all that sharing can give.
func grants() []policy.Grant {
	var out []policy.Grant
	for i := range 8 {
		out = append(out, policy.Grant{Named: i&1 != 0, Everyone: i&2 != 0, Sees: i&4 != 0})
	}
	return out
}

func TestNothingButMakingASessionDrivesIt(t *testing.T) {
	people := []claudehub.PersonID{"", "per_a", "per_b"}
	for _, p := range people {
		for _, creator := range people {
			for _, g := range grants() {
				a := policy.Access(p, creator, g)
				what := fmt.Sprintf("%q with %+v of a Session of %q", p, g, creator)
				if drives := policy.Drive(a) == nil; drives != claudehub.MayDrive(p, creator) {
					t.Errorf("%s drives: %v", what, drives)
				}
				if owns := policy.Own(a) == nil; owns != claudehub.MayDrive(p, creator) {
					t.Errorf("%s owns: %v", what, owns)
				}
				watches := p != "" && (p == creator || g.Named || g.Everyone && g.Sees)
				if got := policy.Watch(a) == nil; got != watches {
					t.Errorf("%s watches: %v", what, got)
				}
				if got := policy.Suggest(a) == nil; got != (watches && p != creator) {
					t.Errorf("%s suggests: %v", what, got)
				}
				if !watches {
					for _, err := range []error{policy.Watch(a), policy.Drive(a), policy.Own(a), policy.Suggest(a)} {
						if !errors.Is(err, policy.ErrNoSession) {
							t.Errorf("%s hears %v", what, err)
						}
					}
				}
			}
		}
	}
}

func TestPeople(t *testing.T) {
	member, admin := claudehub.Person{ID: "per_a", Role: claudehub.RoleMember}, claudehub.Person{ID: "per_b", Role: claudehub.RoleAdmin}
	removed := admin
	removed.Removed = time.Now()
	for _, c := range []struct {
		p                     claudehub.Person
		enter, administer, rm bool // rm: revoke the Runner of per_c
	}{{member, true, false, false}, {admin, true, true, true}, {removed, false, false, false}, {claudehub.Person{Role: claudehub.RoleAdmin}, false, false, false}} {
		if (policy.Enter(c.p) == nil) != c.enter || (policy.Administer(c.p) == nil) != c.administer || (policy.RevokeRunner(c.p, "per_c") == nil) != c.rm {
			t.Errorf("%+v", c)
		}
	}
	if policy.RevokeRunner(member, member.ID) != nil || policy.UseRunner(admin.ID, member.ID) == nil || policy.UseEnvironment(admin.ID, member.ID) == nil {
		t.Error("owners have what is theirs, and admins have not")
	}
	s := claudehub.Suggestion{Author: claudehub.Face{ID: "per_a"}}
	if policy.Withdraw("per_a", s) != nil || policy.Withdraw("per_b", s) == nil || policy.Withdraw("", claudehub.Suggestion{}) == nil {
		t.Error("a suggestion is its author's to withdraw")
	}
	has := []claudehub.Scope{claudehub.ScopeRead}
	if policy.Scoped(has, claudehub.ScopeRead) != nil || policy.Scoped(has, claudehub.ScopeDrive) == nil || policy.Scoped(claudehub.Scopes, claudehub.ScopeNone) == nil {
		t.Error("a token does what its scopes say")
	}
	if policy.Serves("run_a", "run_a") != nil || policy.Serves("run_a", "run_b") == nil || policy.Serves("", "") == nil {
		t.Error("a Runner speaks of its own")
	}
}
