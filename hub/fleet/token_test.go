package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

var reading = []claudehub.Scope{claudehub.ScopeRead}

func TestAPIToken(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		made, token, err := r.CreateAPIToken(r.ctx, r.me, "  ci  ", []claudehub.Scope{claudehub.ScopeRead, claudehub.ScopeDrive}, r.clock.now().Add(time.Hour))
		check(t, err)
		p, got, err := r.AuthenticateToken(r.ctx, token)
		check(t, err)
		if p.ID != r.me || p.Role != claudehub.RoleAdmin || got.ID != made.ID || got.Name != "ci" || len(got.Scopes) != 2 || got.Scopes[1] != claudehub.ScopeDrive {
			t.Errorf("authenticated as %+v with %+v", p, got)
		}
		all, err := r.APITokens(r.ctx, r.me)
		check(t, err)
		if len(all) != 1 || all[0].ID != made.ID || !all[0].Expires.Equal(made.Expires) {
			t.Errorf("the list is %+v", all)
		}
		wantCode(t, "a stranger's", r.RevokeAPIToken(r.ctx, r.stranger, made.ID), claudehub.NotFound)
		check(t, r.RevokeAPIToken(r.ctx, r.me, made.ID))
		_, _, revoked := r.AuthenticateToken(r.ctx, token)
		_, _, unknown := r.AuthenticateToken(r.ctx, claudehub.NewToken(claudehub.APITokenKind))
		_, _, none := r.AuthenticateToken(r.ctx, claudehub.Token{})
		_, short, err := r.CreateAPIToken(r.ctx, r.me, "short", reading, r.clock.now().Add(time.Minute))
		check(t, err)
		r.clock.move(time.Minute)
		_, _, expired := r.AuthenticateToken(r.ctx, short)
		for what, err := range map[string]error{"revoked": revoked, "unknown": unknown, "none": none, "expired": expired} {
			wantCode(t, what, err, claudehub.Unauthenticated)
			if err.Error() != unknown.Error() {
				t.Errorf("%s: %q tells what is known", what, err)
			}
		}
		r.wantNotes("token.create", 2)
		r.wantNotes("token.revoke", 1)
	})
}

// wantNotes checks how often the audit log has an action.
func (r *rig) wantNotes(action string, n int) []claudehub.AuditEntry {
	r.t.Helper()
	got := r.audit(fleet.AuditFilter{Action: action})
	if len(got) != n {
		r.t.Errorf("the audit log has %d times %s, want %d", len(got), action, n)
	}
	return got
}

func TestLastUseOfATokenIsWrittenOnceAMinute(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		_, token, err := r.CreateAPIToken(r.ctx, r.me, "ci", reading, time.Time{})
		check(t, err)
		at := func(address string) claudehub.APIToken {
			ctx := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: address})
			_, got, err := r.AuthenticateToken(ctx, token)
			check(t, err)
			return got
		}
		first := at("192.0.2.1")
		if first.Address != "192.0.2.1" || first.LastUsed.IsZero() {
			t.Errorf("first used %+v", first)
		}
		r.clock.move(59 * time.Second)
		if again := at("192.0.2.2"); !again.LastUsed.Equal(first.LastUsed) || again.Address != first.Address {
			t.Errorf("written within the minute: %+v", again)
		}
		r.clock.move(time.Second)
		last := at("192.0.2.2")
		all, err := r.APITokens(r.ctx, r.me)
		check(t, err)
		if !last.LastUsed.After(first.LastUsed) || all[0].Address != "192.0.2.2" || !all[0].LastUsed.Equal(last.LastUsed) {
			t.Errorf("after a minute: %+v, listed %+v", last, all[0])
		}
		p, err := r.LocalPerson(r.ctx)
		check(t, err)
		if !p.Seen.Equal(last.LastUsed) {
			t.Errorf("the person was seen at %v", p.Seen)
		}
	})
}

func TestAPITokenBounds(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		now := r.clock.now()
		for name, c := range map[string]struct {
			name    string
			scopes  []claudehub.Scope
			expires time.Time
		}{
			"no name":     {"", reading, time.Time{}},
			"long name":   {strings.Repeat("ö", claudehub.MaxTokenName+1), reading, time.Time{}},
			"two lines":   {"a\nb", reading, time.Time{}},
			"no scope":    {"a", nil, time.Time{}},
			"odd scope":   {"a", []claudehub.Scope{"admin"}, time.Time{}},
			"empty scope": {"a", []claudehub.Scope{claudehub.ScopeNone}, time.Time{}},
			"past":        {"a", reading, now},
			"two years":   {"a", reading, now.Add(2 * claudehub.MaxTokenLife)},
		} {
			_, _, err := r.CreateAPIToken(r.ctx, r.me, c.name, c.scopes, c.expires)
			wantCode(t, name, err, claudehub.Invalid)
		}
		for i := range claudehub.MaxTokens {
			_, _, err := r.CreateAPIToken(r.ctx, r.me, fmt.Sprint("token ", i), reading, now.Add(time.Hour))
			check(t, err)
		}
		_, _, err := r.CreateAPIToken(r.ctx, r.me, "one more", reading, time.Time{})
		wantCode(t, "one more", err, claudehub.TooMany)
		_, _, err = r.CreateAPIToken(r.ctx, r.stranger, "theirs", reading, time.Time{})
		check(t, err)
		r.clock.move(40 * 24 * time.Hour)
		r.Tidy(r.ctx)
		all, err := r.APITokens(r.ctx, r.me)
		check(t, err)
		if len(all) != 0 {
			t.Errorf("%d that expired a month ago are listed", len(all))
		}
		if all, err = r.APITokens(r.ctx, r.stranger); err != nil || len(all) != 1 {
			t.Errorf("what never expires: %v, %v", all, err)
		}
	})
}

func TestTokensOfARemovedPerson(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		_, token, err := r.CreateAPIToken(r.ctx, r.me, "ci", reading, time.Time{})
		check(t, err)
		cookie := r.signIn()
		_, runner, err := r.AddRunner(r.ctx, r.me, "box")
		check(t, err)
		opens := func() []error {
			_, _, one := r.AuthenticateToken(r.ctx, token)
			_, _, two := r.Authenticate(r.ctx, cookie)
			_, three := r.AuthenticateRunner(r.ctx, runner)
			return []error{one, two, three, r.AcquireLease(r.ctx, r.runner, "one-instance", "mac", true)}
		}
		for i, err := range opens() {
			if err != nil {
				t.Errorf("credential %d: %v", i, err)
			}
		}
		check(t, r.st.Write(r.ctx, func(q store.Q) error { return q.SetRemoved(r.ctx, r.me, r.clock.now()) }))
		for i, err := range opens() {
			wantCode(t, fmt.Sprint("credential ", i), err, claudehub.Unauthenticated)
		}
		check(t, r.st.Write(r.ctx, func(q store.Q) error { return q.SetRemoved(r.ctx, r.me, time.Time{}) }))
		for i, err := range opens() {
			if err != nil {
				t.Errorf("back again, credential %d: %v", i, err)
			}
		}
	})
}
