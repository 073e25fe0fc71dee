package fleet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// Every deed of a person is in the audit log, once, as theirs; what changes nothing and what is refused is not; and no text
// that could be secret is.
func TestEveryDeedIsWrittenDown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const secret = "do-not-write-this-down"
		s := r.create(fleet.NewSession{Prompt: secret, Source: claudehub.Source{GitURL: "https://" + secret + "@git.example/acme/app"}})
		e := r.environment("env")
		sealed, err := r.keys.Check()
		check(t, err)
		check(t, r.st.Write(r.ctx, func(q store.Q) error { return q.AddKeysetCheck(r.ctx, sealed) }))
		me := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorPerson, ID: string(r.me), Login: "local", Address: "192.0.2.7"})
		title := "another"
		var suggestion claudehub.Suggestion
		var prompt claudehub.Prompt
		var build claudehub.Build
		var link claudehub.Token
		suggest := func() (err error) {
			suggestion, err = r.Suggest(r.ctx, r.stranger, s.ID, secret)
			return err
		}
		for _, deed := range []struct {
			action, target string
			do             func() error
		}{
			{"session.sleep", string(s.ID), func() error { return second(r.Sleep(me, r.me, s.ID)) }},
			{"", "", func() error { return second(r.Sleep(me, r.me, s.ID)) }},
			{"session.wake", string(s.ID), func() error { return second(r.Wake(me, r.me, s.ID)) }},
			{"session.update", string(s.ID), func() error {
				return second(r.UpdateSession(me, r.me, s.ID, fleet.SessionUpdate{Title: &title}))
			}},
			{"", "", func() error { return second(r.UpdateSession(me, r.me, s.ID, fleet.SessionUpdate{Title: &title})) }},
			{"session.update", string(s.ID), func() error { return second(r.Forward(me, r.me, s.ID, claudehub.Forward{Port: 80})) }},
			{"", "", func() error { return second(r.Forward(me, r.me, s.ID, claudehub.Forward{Port: 80})) }},
			{"session.update", string(s.ID), func() error { return second(r.Unforward(me, r.me, s.ID, 80)) }},
			{"session.prompt", string(s.ID), func() (err error) {
				prompt, err = r.AddPrompt(me, r.me, s.ID, secret, "key")
				return err
			}},
			{"", "", func() error { return second(r.AddPrompt(me, r.me, s.ID, secret, "key")) }},
			{"session.prompt", string(s.ID), func() error { return second(r.CancelPrompt(me, r.me, s.ID, prompt.ID)) }},
			{"session.update", string(s.ID), func() error { return second(r.Stop(me, r.me, s.ID)) }},
			{"session.share", string(s.ID), func() error { return second(r.Share(me, r.me, s.ID, "stranger")) }},
			{"", "", func() error { return second(r.Share(me, r.me, s.ID, "stranger")) }},
			{"suggestion.make", "", suggest},
			{"suggestion.decline", "", func() error { return second(r.DeclineSuggestion(me, r.me, suggestion.ID, secret)) }},
			{"suggestion.make", "", suggest},
			{"suggestion.withdraw", "", func() error { return second(r.WithdrawSuggestion(r.ctx, r.stranger, suggestion.ID)) }},
			{"suggestion.make", "", suggest},
			{"suggestion.accept", "", func() error {
				_, _, err := r.AcceptSuggestion(me, r.me, suggestion.ID, nil)
				return err
			}},
			{"session.unshare", string(s.ID), func() error { return second(r.Unshare(me, r.me, s.ID, r.stranger)) }},
			{"session.share", string(s.ID), func() error { return second(r.ShareEveryone(me, r.me, s.ID, true)) }},
			{"", "", func() error { return second(r.ShareEveryone(me, r.me, s.ID, true)) }},
			{"session.unshare", string(s.ID), func() error { return second(r.ShareEveryone(me, r.me, s.ID, false)) }},
			{"session.link", string(s.ID), func() (err error) {
				link, _, err = r.CreateLink(me, r.me, s.ID)
				return err
			}},
			{"session.join", string(s.ID), func() error { return second(r.Join(r.ctx, r.stranger, link)) }},
			{"", "", func() error { return second(r.Join(r.ctx, r.stranger, link)) }},
			{"session.unlink", string(s.ID), func() error { return second(r.RevokeLink(me, r.me, s.ID)) }},
			{"", "", func() error { return second(r.RevokeLink(me, r.me, s.ID)) }},
			{"session.archive", string(s.ID), func() error { return second(r.Archive(me, r.me, s.ID)) }},
			{"session.unarchive", string(s.ID), func() error { return second(r.Unarchive(me, r.me, s.ID)) }},
			{"session.archive", string(s.ID), func() error { return second(r.Archive(me, r.me, s.ID)) }},
			{"session.delete", string(s.ID), func() error { return second(r.Delete(me, r.me, s.ID)) }},
			{"", "", func() error { return second(r.Delete(me, r.me, s.ID)) }},
			{"environment.create", "", func() error { return second(r.CreateEnvironment(me, r.me, "env 2", claudehub.DefaultRecipe())) }},
			{"environment.update", string(e.ID), func() error {
				return second(r.UpdateEnvironment(me, r.me, e.ID, fleet.EnvironmentUpdate{Name: &title, Base: 1}))
			}},
			{"variable.set", string(e.ID), func() error {
				return second(r.SetEnvironmentVariable(me, r.me, e.ID, "KEY", secret, false))
			}},
			{"variable.delete", string(e.ID), func() error { return r.DeleteEnvironmentVariable(me, r.me, e.ID, "KEY") }},
			{"variable.set", "git.example/acme/app", func() error {
				return second(r.SetRepoVariable(me, r.me, "git.example/acme/app", "KEY", secret, true))
			}},
			{"variable.delete", "git.example/acme/app", func() error { return r.DeleteRepoVariable(me, r.me, "git.example/acme/app", "KEY") }},
			{"build.create", "", func() (err error) {
				build, err = r.CreateBuild(me, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner})
				return err
			}},
			{"", "", func() error {
				return second(r.CreateBuild(me, r.me, fleet.NewBuild{Environment: e.ID, Runner: r.runner}))
			}},
			{"build.cancel", "", func() error { return second(r.CancelBuild(me, r.me, build.ID)) }},
			{"", "", func() error { return second(r.CancelBuild(me, r.me, build.ID)) }},
			{"environment.archive", string(e.ID), func() error { return second(r.ArchiveEnvironment(me, r.me, e.ID)) }},
			{"environment.unarchive", string(e.ID), func() error { return second(r.UnarchiveEnvironment(me, r.me, e.ID)) }},
			{"runner.rename", string(r.runner), func() error { return second(r.RenameRunner(me, r.me, r.runner, "desk")) }},
			{"runner.reclaim", string(r.runner), func() error { return second(r.Reclaim(me, r.me, r.runner, []string{"image"})) }},
			{"keyset.rotate", "", func() error { return second(r.Reseal(me)) }},
		} {
			before := r.head().Seq
			if err := deed.do(); err != nil {
				t.Fatalf("%s: %v", deed.action, err)
			}
			lines := r.audit(fleet.AuditFilter{Limit: int(max(r.head().Seq-before, 1))})
			if deed.action == "" {
				if got := r.head().Seq; got != before {
					t.Errorf("a deed that changes nothing is written down: %+v", lines)
				}
				continue
			}
			if got := r.head().Seq; got != before+1 {
				t.Errorf("%s: %d lines", deed.action, got-before)
				continue
			}
			line := lines[0]
			stranger := line.Actor == string(r.stranger) && line.Login == "stranger"
			mine := line.Actor == string(r.me) && line.Login == "local" && line.Address == "192.0.2.7"
			if line.Action != deed.action || deed.target != "" && line.Target != deed.target || line.Kind != claudehub.ActorPerson || !mine && !stranger {
				t.Errorf("%s on %q is written down as %+v", deed.action, deed.target, line)
			}
		}
		before := r.head()
		for _, do := range r.everyDeed(r.stranger) {
			_ = do(s.ID) // all of them are refused: see TestStrangersFindNothing
		}
		if after := r.head(); after != before {
			t.Errorf("what was refused is written down as done: %+v", r.audit(fleet.AuditFilter{Limit: 3}))
		}
		check(t, r.ExportAudit(r.ctx, admin, fleet.AuditFilter{}, func(e claudehub.AuditEntry) error {
			b, err := json.Marshal(e)
			if strings.Contains(string(b), secret) || link.Reveal() != "" && strings.Contains(string(b), link.Reveal()) {
				t.Errorf("the log says %s", b)
			}
			return err
		}))
		if report := r.verify(before, r.head()); len(report.Broken) > 0 {
			t.Errorf("%+v", report.Broken)
		}
	})
}
