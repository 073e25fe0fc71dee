package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/hub/fleet"
	"claude-hub/hub/github"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// farGitHub says who sees which repository: "token owner/name".
type farGitHub struct {
	mu      sync.Mutex
	readers map[string]bool
	away    bool
	asked   int
}

func (g *farGitHub) Host() string { return "git.example" }

func (g *farGitHub) CanSee(_ context.Context, t github.Token, owner, repo string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	if g.away {
		return false, claudehub.Errorf(claudehub.Unavailable, "GitHub does not answer.")
	}
	return g.readers[string(t.Reveal())+" "+owner+"/"+repo], nil
}

func (g *farGitHub) set(fn func(*farGitHub)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn(g)
}

// person adds one who is on the Hub.
func (r *rig) person(login string) claudehub.PersonID {
	r.t.Helper()
	id := claudehub.NewPersonID()
	check(r.t, r.st.Write(r.ctx, func(q store.Q) error {
		return q.AddPerson(r.ctx, claudehub.Person{ID: id, Login: login, Name: strings.ToUpper(login), Created: r.clock.now()})
	}))
	return id
}

// token gives a person a GitHub token, and returns what the stand-in knows it by.
func (r *rig) token(p claudehub.PersonID) string {
	r.t.Helper()
	text := fmt.Sprintf(`{"access":%q}`, "token-of-"+string(p))
	token, err := github.ParseToken([]byte(text))
	check(r.t, err)
	check(r.t, r.KeepToken(r.ctx, p, token))
	return string(token.Reveal())
}

func (r *rig) share(id claudehub.SessionID, login string) claudehub.Session {
	r.t.Helper()
	s, err := r.Share(r.ctx, r.me, id, login)
	check(r.t, err)
	return s
}

func (r *rig) access(p claudehub.PersonID, id claudehub.SessionID) claudehub.Access {
	r.t.Helper()
	s, err := r.Session(r.ctx, p, id)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		wantCode(r.t, "StillWatches", r.StillWatches(r.ctx, p, id), claudehub.NotFound)
		return claudehub.AccessNone
	}
	check(r.t, err)
	check(r.t, r.StillWatches(r.ctx, p, id))
	return s.Access
}

func (r *rig) listed(p claudehub.PersonID, archived bool) []claudehub.SessionID {
	r.t.Helper()
	all, err := r.Sessions(r.ctx, p, archived)
	check(r.t, err)
	out := []claudehub.SessionID{}
	for _, s := range all {
		out = append(out, s.ID)
	}
	return out
}

// everyDeed is all that only who may drive, or only the Creator, may do with a Session.
func (r *rig) everyDeed(p claudehub.PersonID) map[string]func(claudehub.SessionID) error {
	title := "theirs"
	act := func(do func(context.Context, claudehub.PersonID, claudehub.SessionID) (claudehub.Session, error)) func(claudehub.SessionID) error {
		return func(id claudehub.SessionID) error { _, err := do(r.ctx, p, id); return err }
	}
	return map[string]func(claudehub.SessionID) error{
		"Drive": act(r.Drive), "Sleep": act(r.Sleep), "Wake": act(r.Wake), "Archive": act(r.Archive), "Unarchive": act(r.Unarchive),
		"Delete": act(r.Delete), "Retry": act(r.Retry), "CancelStep": act(r.CancelStep), "Stop": act(r.Stop), "NewConversation": act(r.NewConversation),
		"RevokeLink": act(r.RevokeLink),
		"Update": func(id claudehub.SessionID) error {
			_, err := r.UpdateSession(r.ctx, p, id, fleet.SessionUpdate{Title: &title})
			return err
		},
		"Forward": func(id claudehub.SessionID) error {
			_, err := r.Forward(r.ctx, p, id, claudehub.Forward{Port: 80})
			return err
		},
		"Unforward":    func(id claudehub.SessionID) error { _, err := r.Unforward(r.ctx, p, id, 80); return err },
		"AddPrompt":    func(id claudehub.SessionID) error { _, err := r.AddPrompt(r.ctx, p, id, "x", ""); return err },
		"CancelPrompt": func(id claudehub.SessionID) error { _, err := r.CancelPrompt(r.ctx, p, id, "pro_x"); return err },
		"SendInput":    func(id claudehub.SessionID) error { return r.SendInput(r.ctx, p, input(id, "x")) },
		"SendResize": func(id claudehub.SessionID) error {
			return r.SendResize(r.ctx, p, wire.Resize{Session: id, Cols: 80, Rows: 24})
		},
		"Share":      func(id claudehub.SessionID) error { _, err := r.Share(r.ctx, p, id, "local"); return err },
		"Everyone":   func(id claudehub.SessionID) error { _, err := r.ShareEveryone(r.ctx, p, id, true); return err },
		"Unshare":    func(id claudehub.SessionID) error { _, err := r.Unshare(r.ctx, p, id, p); return err },
		"CreateLink": func(id claudehub.SessionID) error { _, _, err := r.CreateLink(r.ctx, p, id); return err },
	}
}

// A Participant sees the Session, its prompts, its history and its suggestions; of what is the Creator's alone nothing; and
// moves nothing.
func TestParticipants(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		check(t, r.AcquireLease(r.ctx, r.runner, "one", "mac", false))
		e := r.environment("env")
		_, err := r.SetEnvironmentVariable(r.ctx, r.me, e.ID, "KEY", "value", true)
		check(t, err)
		mine := r.create(fleet.NewSession{Prompt: "hello", Environment: &claudehub.EnvironmentRef{ID: e.ID},
			Source: claudehub.Source{GitURL: "https://ghp-token@git.example/acme/app"}})
		_, err = r.Forward(r.ctx, r.me, mine.ID, claudehub.Forward{Port: 3000})
		check(t, err)
		r.observe(mine.ID, claudehub.Observed{Phase: claudehub.PhaseFailed, Build: claudehub.NewBuildID(), Failure: &claudehub.Failure{Reason: "why", Detail: "output"},
			Ports: []claudehub.Port{{Port: 3000, Process: "node", Listens: true, Local: "127.0.0.1:41234"}, {Port: 4000, Local: "127.0.0.1:5"}}})
		ada := r.person("ada")
		before := r.desiredOf(mine.ID)
		r.share(mine.ID, " @STRANGER ")
		shown := r.share(mine.ID, "ada")
		if after := r.desiredOf(mine.ID); after.Seq != before.Seq {
			t.Error("sharing concerned the Runner")
		}
		if shown.Access != claudehub.AccessCreator || len(shown.Shared.People) != 2 || shown.Shared.People[1].ID != ada || shown.By.ID != r.me ||
			shown.Forwards[0].Port != 3000 || shown.Observed.Ports[0].Local == "" || shown.Observed.Failure.Detail == "" {
			t.Errorf("the Creator sees %+v", shown)
		}
		s, err := r.Session(r.ctx, r.stranger, mine.ID)
		check(t, err)
		b, err := json.Marshal(s)
		check(t, err)
		for _, hidden := range []string{"ghp-token", "127.0.0.1", "output", "ada", string(ada), "4000", `"build"`, "KEY"} {
			if strings.Contains(string(b), hidden) {
				t.Errorf("a Participant sees %q: %s", hidden, b)
			}
		}
		if s.Access != claudehub.AccessParticipant || s.By == nil || s.By.Login != "local" || s.Source.GitURL != "https://git.example/acme/app" ||
			len(s.Forwards) != 0 || len(s.Observed.Ports) != 1 || s.Observed.Failure.Reason != "why" {
			t.Errorf("a Participant sees %+v", s)
		}
		if diff := cmp.Diff([]claudehub.SessionID{mine.ID}, r.listed(r.stranger, false)); diff != "" {
			t.Error(diff)
		}
		prompts, err := r.Prompts(r.ctx, r.stranger, mine.ID)
		check(t, err)
		if len(prompts) != 1 {
			t.Errorf("a Participant sees the prompts %v", prompts)
		}
		_, err = r.History(r.ctx, r.stranger, mine.ID)
		check(t, err)
		for what, do := range r.everyDeed(r.stranger) {
			wantCode(t, what+" by a Participant", do(mine.ID), claudehub.Forbidden)
		}
		_, err = r.EnvironmentVariables(r.ctx, r.stranger, e.ID)
		wantCode(t, "Variables", err, claudehub.NotFound)
		_, err = r.Environment(r.ctx, r.stranger, e.ID)
		wantCode(t, "Environment", err, claudehub.NotFound)
		_, err = r.RenameRunner(r.ctx, r.stranger, r.runner, "x")
		wantCode(t, "Runner", err, claudehub.NotFound)
		if runners, err := r.Runners(r.ctx, r.stranger); err != nil || len(runners) != 1 || runners[0].ID != r.theirs {
			t.Errorf("a Participant sees the Runners %v (%v)", runners, err)
		}
		_, err = r.Archive(r.ctx, r.me, mine.ID)
		check(t, err)
		if len(r.listed(r.stranger, false)) != 0 || len(r.listed(r.stranger, true)) != 1 {
			t.Error("an archived Session is in the wrong list")
		}
		// And then it is taken away: all is as if it had never been.
		after, err := r.Unshare(r.ctx, r.me, mine.ID, r.stranger)
		check(t, err)
		if len(after.Shared.People) != 1 || len(r.listed(r.stranger, true)) != 0 {
			t.Errorf("%+v", after.Shared)
		}
		for what, do := range r.everyDeed(r.stranger) {
			if a, b := fmt.Sprint(do(claudehub.NewSessionID())), fmt.Sprint(do(mine.ID)); a != b {
				t.Errorf("%s tells: %q and %q", what, a, b)
			}
		}
		_, err = r.Unshare(r.ctx, r.me, mine.ID, r.stranger)
		wantCode(t, "twice", err, claudehub.NotFound)
	})
}

// An admin is a member like all others where Sessions are concerned.
func TestAdminsAreStrangers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s, err := r.CreateSession(r.ctx, r.stranger, fleet.NewSession{Runner: r.theirs, Title: "theirs"})
		check(t, err)
		// The person of local mode is admin.
		if got := r.access(r.me, s.ID); got != claudehub.AccessNone || len(r.listed(r.me, false)) != 0 {
			t.Errorf("an admin has %q", got)
		}
		for what, do := range r.everyDeed(r.me) {
			wantCode(t, what, do(s.ID), claudehub.NotFound)
		}
	})
}

func TestShareIsRefused(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		for login, code := range map[string]claudehub.Code{"": claudehub.NotFound, "nobody": claudehub.NotFound, "local": claudehub.Conflict,
			"x\x00": claudehub.NotFound, strings.Repeat("x", 200): claudehub.NotFound, "%": claudehub.NotFound} {
			_, err := r.Share(r.ctx, r.me, s.ID, login)
			wantCode(t, fmt.Sprintf("%q", login), err, code)
		}
		_, err := r.Unshare(r.ctx, r.me, s.ID, "per_\x00")
		wantCode(t, "an odd person", err, claudehub.NotFound)
		before := r.head()
		for i := range claudehub.MaxShared {
			login := fmt.Sprint("p", i)
			r.person(login)
			r.share(s.ID, login)
			r.share(s.ID, login) // again changes nothing
		}
		if n := r.head().Seq - before.Seq; n != claudehub.MaxShared {
			t.Errorf("%d lines in the audit log", n)
		}
		r.person("onemore")
		_, err = r.Share(r.ctx, r.me, s.ID, "onemore")
		wantCode(t, "one more", err, claudehub.TooMany)
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Delete(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Share(r.ctx, r.me, s.ID, "stranger")
		wantCode(t, "while it is deleted", err, claudehub.Conflict)
	})
}

// A look inside a failed build shows an Environment of the Creator's: nobody else gets it, in whichever way.
func TestLooksAreNotShared(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		b := r.failedBuild("tools")
		look, err := r.Look(r.ctx, r.me, b.ID)
		check(t, err)
		if look.Access != claudehub.AccessCreator {
			t.Errorf("%+v", look)
		}
		_, err = r.Share(r.ctx, r.me, look.ID, "stranger")
		wantCode(t, "by name", err, claudehub.Conflict)
		_, err = r.ShareEveryone(r.ctx, r.me, look.ID, true)
		wantCode(t, "with everyone", err, claudehub.Conflict)
		_, _, err = r.CreateLink(r.ctx, r.me, look.ID)
		wantCode(t, "by link", err, claudehub.Conflict)
		// Not even with a row that should not be there.
		check(t, r.st.Write(r.ctx, func(q store.Q) error {
			_, err := q.AddShare(r.ctx, look.ID, r.stranger, false, r.clock.now())
			return err
		}))
		if got := r.access(r.stranger, look.ID); got != claudehub.AccessNone || len(r.listed(r.stranger, false)) != 0 {
			t.Errorf("the stranger has %q", got)
		}
	})
}

func TestLinks(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		ada, bob := r.person("ada"), r.person("bob")
		first, shown, err := r.CreateLink(r.ctx, r.me, s.ID)
		check(t, err)
		if !shown.Shared.Link || !strings.HasPrefix(first.Reveal(), "chj_") {
			t.Errorf("%+v", shown.Shared)
		}
		join := func(p claudehub.PersonID, link claudehub.Token, want claudehub.Code) claudehub.Session {
			t.Helper()
			got, err := r.Join(r.ctx, p, link)
			wantCode(t, "join", err, want)
			if err != nil && claudehub.MessageOf(err) != claudehub.MessageOf(fleet.ErrNoLink) {
				t.Errorf("another word: %v", err)
			}
			return got
		}
		if got := join(ada, first, ""); got.Access != claudehub.AccessParticipant || got.Shared.Link || len(got.Shared.People) != 0 {
			t.Errorf("%+v", got)
		}
		join(ada, first, "")
		if got := join(r.me, first, ""); got.Access != claudehub.AccessCreator || len(got.Shared.People) != 1 {
			t.Errorf("the Creator joins as %+v", got)
		}
		join(bob, claudehub.NewToken(claudehub.JoinToken), claudehub.NotFound)
		join(bob, claudehub.Token{}, claudehub.NotFound)
		join("", first, claudehub.NotFound)

		second, _, err := r.CreateLink(r.ctx, r.me, s.ID)
		check(t, err)
		join(bob, first, claudehub.NotFound) // replaced
		join(bob, second, "")
		if r.access(ada, s.ID) != claudehub.AccessParticipant {
			t.Error("who came by the first link is out")
		}
		// Whom the Creator took out does not come back by the same link, but by name or by the next link.
		_, err = r.Unshare(r.ctx, r.me, s.ID, bob)
		check(t, err)
		join(bob, second, claudehub.NotFound)
		if r.access(bob, s.ID) != claudehub.AccessNone || len(r.listed(bob, false)) != 0 {
			t.Error("bob is in")
		}
		third, _, err := r.CreateLink(r.ctx, r.me, s.ID)
		check(t, err)
		join(bob, third, "")
		_, err = r.Unshare(r.ctx, r.me, s.ID, bob)
		check(t, err)
		r.share(s.ID, "bob")
		// The end of the link is the end for who came by it, and not for who was named.
		shown, err = r.RevokeLink(r.ctx, r.me, s.ID)
		check(t, err)
		if shown.Shared.Link || len(shown.Shared.People) != 1 || shown.Shared.People[0].ID != bob {
			t.Errorf("%+v", shown.Shared)
		}
		if r.access(ada, s.ID) != claudehub.AccessNone || r.access(bob, s.ID) != claudehub.AccessParticipant {
			t.Error("the wrong one is out")
		}
		join(ada, third, claudehub.NotFound)
		_, err = r.RevokeLink(r.ctx, r.me, s.ID)
		check(t, err)
		// A link to what is being deleted opens nothing.
		last, _, err := r.CreateLink(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		_, err = r.Delete(r.ctx, r.me, s.ID)
		check(t, err)
		join(ada, last, claudehub.NotFound)
	})
}

func TestFindPeople(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for i := range 15 {
			r.person(fmt.Sprintf("Dev%02d", i))
		}
		r.person("odd_one")
		r.person("oddxone")
		for query, want := range map[string]int{"": 0, " ": 0, "dev": 10, "DEV0": 10, "@dev14": 1, "odd_": 1, "%": 0, `\`: 0, "local": 0, "you": 0, "stran": 1, "x\x00": 0,
			strings.Repeat("d", 200): 0} {
			got, err := r.FindPeople(r.ctx, r.me, query)
			check(t, err)
			if got == nil || len(got) != want {
				t.Errorf("%q finds %d people instead of %d", query, len(got), want)
			}
		}
	})
}
