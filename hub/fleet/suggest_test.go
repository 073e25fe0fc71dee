package fleet_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

func (r *rig) suggest(p claudehub.PersonID, id claudehub.SessionID, text string) claudehub.Suggestion {
	r.t.Helper()
	s, err := r.Suggest(r.ctx, p, id, text)
	check(r.t, err)
	return s
}

func TestSuggestions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		r.share(s.ID, "stranger")
		ada := r.person("ada")
		r.share(s.ID, "ada")
		before := r.desiredOf(s.ID)
		one, two, three, four := r.suggest(r.stranger, s.ID, "one"), r.suggest(r.stranger, s.ID, "two"), r.suggest(ada, s.ID, "three"), r.suggest(ada, s.ID, "four")
		if got := r.desiredOf(s.ID); got.Seq != before.Seq || len(got.Prompts) != 0 {
			t.Errorf("a suggestion does something: %+v", got)
		}
		// Accepted as it is: it is the Creator's prompt, and says whose idea it was.
		accepted, prompt, err := r.AcceptSuggestion(r.ctx, r.me, one.ID, nil)
		check(t, err)
		if accepted.State != claudehub.SuggestionAccepted || accepted.Prompt != prompt.ID || prompt.Text != "one" || prompt.Author != r.me ||
			prompt.SuggestedBy == nil || prompt.SuggestedBy.Login != "stranger" || prompt.State != claudehub.PromptQueued {
			t.Errorf("%+v, %+v", accepted, prompt)
		}
		sent := r.desiredOf(s.ID).Prompts
		if len(sent) != 1 || sent[0].ID != prompt.ID || sent[0].Author != r.me || sent[0].SuggestedBy.ID != r.stranger {
			t.Errorf("the Runner gets %+v", sent)
		}
		// Edited.
		text := "two, but better"
		_, prompt, err = r.AcceptSuggestion(r.ctx, r.me, two.ID, &text)
		check(t, err)
		if prompt.Text != text {
			t.Errorf("%+v", prompt)
		}
		declined, err := r.DeclineSuggestion(r.ctx, r.me, three.ID, " not now ")
		check(t, err)
		if declined.State != claudehub.SuggestionDeclined || declined.Why != "not now" {
			t.Errorf("%+v", declined)
		}
		_, err = r.WithdrawSuggestion(r.ctx, r.stranger, four.ID)
		wantCode(t, "another's", err, claudehub.Forbidden)
		withdrawn, err := r.WithdrawSuggestion(r.ctx, ada, four.ID)
		check(t, err)
		if withdrawn.State != claudehub.SuggestionWithdrawn {
			t.Errorf("%+v", withdrawn)
		}
		for _, p := range []claudehub.PersonID{r.me, ada} {
			all, err := r.Suggestions(r.ctx, p, s.ID)
			check(t, err)
			got := ""
			for _, one := range all {
				got += fmt.Sprintf("%s %s %s; ", one.Author.Login, one.Text, one.State)
			}
			if got != "stranger one accepted; stranger two accepted; ada three declined; ada four withdrawn; " {
				t.Errorf("listed are %s", got)
			}
		}
		for _, id := range []claudehub.SuggestionID{one.ID, two.ID, three.ID, four.ID} {
			_, _, err := r.AcceptSuggestion(r.ctx, r.me, id, nil)
			wantCode(t, "accept again", err, claudehub.Conflict)
			_, err = r.DeclineSuggestion(r.ctx, r.me, id, "")
			wantCode(t, "decline again", err, claudehub.Conflict)
		}
		prompts, err := r.Prompts(r.ctx, ada, s.ID)
		check(t, err)
		if len(prompts) != 2 || prompts[1].SuggestedBy.Login != "stranger" {
			t.Errorf("%+v", prompts)
		}
		if n := len(r.audit(fleet.AuditFilter{Action: "suggestion."})); n != 8 {
			t.Errorf("%d lines in the audit log", n)
		}
	})
}

func TestSuggestionsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		_, err := r.Suggest(r.ctx, r.me, s.ID, "x")
		wantCode(t, "the Creator's", err, claudehub.Conflict)
		_, err = r.Suggest(r.ctx, r.stranger, s.ID, "x")
		wantCode(t, "a stranger's", err, claudehub.NotFound)
		r.share(s.ID, "stranger")
		for what, text := range map[string]string{"empty": " \n", "NUL": "a\x00", "broken": "a\xff"} {
			_, err = r.Suggest(r.ctx, r.stranger, s.ID, text)
			wantCode(t, what, err, claudehub.Invalid)
		}
		_, err = r.Suggest(r.ctx, r.stranger, s.ID, strings.Repeat("x", claudehub.MaxSuggestion+1))
		wantCode(t, "too large", err, claudehub.TooLarge)
		one := r.suggest(r.stranger, s.ID, "x")
		for range claudehub.MaxSuggestions - 1 {
			r.suggest(r.stranger, s.ID, strings.Repeat("x", claudehub.MaxSuggestion))
		}
		_, err = r.Suggest(r.ctx, r.stranger, s.ID, "x")
		wantCode(t, "one more", err, claudehub.TooMany)

		_, _, err = r.AcceptSuggestion(r.ctx, r.stranger, one.ID, nil)
		wantCode(t, "accept one's own", err, claudehub.Forbidden)
		_, err = r.DeclineSuggestion(r.ctx, r.stranger, one.ID, "")
		wantCode(t, "decline one's own", err, claudehub.Forbidden)
		_, err = r.WithdrawSuggestion(r.ctx, r.me, one.ID)
		wantCode(t, "withdraw as Creator", err, claudehub.Forbidden)
		_, err = r.DeclineSuggestion(r.ctx, r.me, one.ID, strings.Repeat("x", 501))
		wantCode(t, "a long word", err, claudehub.Invalid)
		empty := ""
		_, _, err = r.AcceptSuggestion(r.ctx, r.me, one.ID, &empty)
		wantCode(t, "edited away", err, claudehub.Invalid)

		// Who has no access hears of an id that is there what they hear of one that is not.
		eve := r.person("eve")
		for what, do := range map[string]func(claudehub.SuggestionID) error{
			"accept": func(id claudehub.SuggestionID) error {
				_, _, err := r.AcceptSuggestion(r.ctx, eve, id, nil)
				return err
			},
			"decline":  func(id claudehub.SuggestionID) error { _, err := r.DeclineSuggestion(r.ctx, eve, id, ""); return err },
			"withdraw": func(id claudehub.SuggestionID) error { _, err := r.WithdrawSuggestion(r.ctx, eve, id); return err },
		} {
			absent, foreign, odd := do(claudehub.NewSuggestionID()), do(one.ID), do("sug_x")
			wantCode(t, what, foreign, claudehub.NotFound)
			if fmt.Sprint(absent) != fmt.Sprint(foreign) || fmt.Sprint(odd) != fmt.Sprint(foreign) {
				t.Errorf("%s tells: %v, %v, %v", what, absent, foreign, odd)
			}
		}
		// Nor does the author, once the Session is taken away.
		_, err = r.Unshare(r.ctx, r.me, s.ID, r.stranger)
		check(t, err)
		_, err = r.WithdrawSuggestion(r.ctx, r.stranger, one.ID)
		wantCode(t, "withdraw afterwards", err, claudehub.NotFound)
		_, err = r.Suggestions(r.ctx, r.stranger, s.ID)
		wantCode(t, "list afterwards", err, claudehub.NotFound)
		// What is left of them is the Creator's to answer, but not in a Session that is put away.
		_, err = r.Archive(r.ctx, r.me, s.ID)
		check(t, err)
		_, _, err = r.AcceptSuggestion(r.ctx, r.me, one.ID, nil)
		wantCode(t, "accept in the archive", err, claudehub.Conflict)
		_, err = r.DeclineSuggestion(r.ctx, r.me, one.ID, "")
		check(t, err)
	})
}

// However many accept, decline and withdraw at once: one of them, and at most one prompt.
func TestSuggestionIsAnsweredOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(newSession())
		r.share(s.ID, "stranger")
		one := r.suggest(r.stranger, s.ID, "x")
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 12 {
			wg.Go(func() {
				var err error
				switch i % 3 {
				case 0:
					_, _, err = r.AcceptSuggestion(r.ctx, r.me, one.ID, nil)
				case 1:
					_, err = r.DeclineSuggestion(r.ctx, r.me, one.ID, "")
				default:
					_, err = r.WithdrawSuggestion(r.ctx, r.stranger, one.ID)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if claudehub.CodeOf(err) != claudehub.Conflict {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		prompts, err := r.Prompts(r.ctx, r.me, s.ID)
		check(t, err)
		all, err := r.Suggestions(r.ctx, r.me, s.ID)
		check(t, err)
		accepted := all[0].State == claudehub.SuggestionAccepted
		if won != 1 || len(all) != 1 || accepted != (len(prompts) == 1) || len(prompts) > 1 {
			t.Errorf("%d won, %+v, %d prompts", won, all, len(prompts))
		}
	})
}
