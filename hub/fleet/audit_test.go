package fleet_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

var admin = claudehub.Person{ID: "per_admin", Role: claudehub.RoleAdmin}

// eachDatabase gives a test a Fleet, and the database beside it as somebody who tampers with it has it.
func eachDatabase(t *testing.T, test func(t *testing.T, r *rig, tamper func(query string, args ...any))) {
	t.Helper()
	run := func(driver, dsn, open string) func(*testing.T) {
		return func(t *testing.T) {
			r := newRig(t, storetest.Open(t, dsn))
			db, err := sqlx.Open(driver, open)
			check(t, err)
			defer db.Close()
			test(t, r, func(query string, args ...any) {
				t.Helper()
				_, err := db.Exec(db.Rebind(query), args...)
				check(t, err)
			})
		}
	}
	path := filepath.Join(t.TempDir(), "hub.db")
	t.Run("sqlite", run("sqlite", "sqlite:"+path, "file:"+path+"?_pragma=busy_timeout(5000)"))
	dsn := storetest.PostgresDSN(t)
	t.Run("postgres", run("pgx", dsn, dsn))
}

func (r *rig) audit(f fleet.AuditFilter) []claudehub.AuditEntry {
	r.t.Helper()
	all, err := r.AuditLog(r.ctx, admin, f)
	check(r.t, err)
	return all
}

func (r *rig) verify(kept ...fleet.AuditHead) fleet.AuditReport {
	r.t.Helper()
	report, err := r.VerifyAudit(r.ctx, kept...)
	check(r.t, err)
	return report
}

func (r *rig) head() fleet.AuditHead {
	r.t.Helper()
	h, err := r.AuditHead(r.ctx)
	check(r.t, err)
	return h
}

// notes writes n lines as web does.
func (r *rig) notes(n int) {
	r.t.Helper()
	for i := range n {
		ctx := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorPerson, ID: string(r.me), Address: "192.0.2.7"})
		check(r.t, r.Note(ctx, "thing.do", fmt.Sprint("thing_", i), map[string]string{"a": "1", "b": "\x00\xff"}))
	}
}

func TestAuditSaysWho(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.notes(1)
		e := r.audit(fleet.AuditFilter{Action: "thing.", Actor: "local"})[0]
		want := claudehub.AuditEntry{Seq: e.Seq, At: e.At, Kind: claudehub.ActorPerson, Actor: string(r.me), Login: "local", Action: "thing.do",
			Target: "thing_0", Address: "192.0.2.7", Outcome: claudehub.OutcomeOK, Detail: map[string]string{"a": "1", "b": "\uFFFD\uFFFD"}, Prev: e.Prev}
		want.Hash = store.AuditHash(want)
		if fmt.Sprint(e) != fmt.Sprint(want) {
			t.Errorf("got  %+v\nwant %+v", e, want)
		}
		check(t, r.Note(r.ctx, "thing.do", "", nil))
		if e := r.audit(fleet.AuditFilter{Action: "thing.do", Limit: 1})[0]; e.Kind != claudehub.ActorSystem || e.Actor != "" {
			t.Errorf("nobody asked, and the actor is %+v", e)
		}
		_, err := r.AuditLog(r.ctx, claudehub.Person{ID: r.me, Role: claudehub.RoleMember}, fleet.AuditFilter{})
		wantCode(t, "a member", err, claudehub.NotFound)
		err = r.ExportAudit(r.ctx, claudehub.Person{ID: r.me, Role: claudehub.RoleAdmin, Removed: r.clock.now()}, fleet.AuditFilter{}, nil)
		wantCode(t, "one who was removed", err, claudehub.NotFound)
	})
}

// What is undone with its transaction is not in the log, and a transaction's lines are in it whole and in order.
func TestAuditIsOfTheTransaction(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		before := r.head()
		undone := fmt.Errorf("undone")
		err := r.NoteIn(r.ctx, 120, undone)
		if err == nil || r.head() != before {
			t.Fatalf("an undone transaction left the log at %+v, after %+v (%v)", r.head(), before, err)
		}
		check(t, r.NoteIn(r.ctx, 120, nil))
		if got := r.head().Seq; got != before.Seq+120 {
			t.Errorf("the log ends at %d instead of %d", got, before.Seq+120)
		}
		if report := r.verify(before, r.head()); len(report.Broken) > 0 || report.Rows != before.Seq+120 {
			t.Errorf("%+v", report)
		}
		n := 0
		check(t, r.ExportAudit(r.ctx, admin, fleet.AuditFilter{Action: "many."}, func(e claudehub.AuditEntry) error {
			if e.Target != fmt.Sprint(n) {
				t.Errorf("line %d is of %s", n, e.Target)
			}
			n++
			return nil
		}))
		if n != 120 {
			t.Errorf("%d lines were exported", n)
		}
		if err := r.st.Read().Note(claudehub.AuditEntry{}); claudehub.CodeOf(err) != claudehub.Internal {
			t.Errorf("a note outside of a transaction: %v", err)
		}
	})
}

func TestAuditShowsTampering(t *testing.T) {
	cases := map[string]struct {
		change []string
		seq    int64
		why    string
	}{
		"changed":   {[]string{`UPDATE audit SET login = 'mallory' WHERE seq = 20`}, 20, "changed"},
		"detail":    {[]string{`UPDATE audit SET detail = '{"a":"2"}' WHERE seq = 20`}, 20, "changed"},
		"unread":    {[]string{`UPDATE audit SET detail = 'x' WHERE seq = 20`}, 20, "changed"},
		"time":      {[]string{`UPDATE audit SET at = at + 1 WHERE seq = 20`}, 20, "changed"},
		"outcome":   {[]string{`UPDATE audit SET outcome = 'refused' WHERE seq = 20`}, 20, "changed"},
		"missing":   {[]string{`DELETE FROM audit WHERE seq = 20`}, 21, "missing"},
		"first":     {[]string{`DELETE FROM audit WHERE seq <= 3`}, 4, "missing"},
		"closed up": {[]string{`DELETE FROM audit WHERE seq = 20`, `UPDATE audit SET seq = seq - 1 WHERE seq = 21`}, 20, "follow"},
		"swapped":   {[]string{`UPDATE audit SET seq = 9999 WHERE seq = 20`, `UPDATE audit SET seq = 20 WHERE seq = 21`, `UPDATE audit SET seq = 21 WHERE seq = 9999`}, 20, "follow"},
		"before":    {[]string{`INSERT INTO audit SELECT -5, at, actor_kind, actor, login, action, target, address, outcome, detail, prev, hash FROM audit WHERE seq = 1`}, -5, "number"},
		"cut off":   {[]string{`DELETE FROM audit WHERE seq > 20`}, 20, "cut off"},
		"all":       {[]string{`DELETE FROM audit`}, 0, "cut off"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, r *rig, tamper func(string, ...any)) {
				r.notes(40)
				kept := r.head()
				if report := r.verify(kept); len(report.Broken) > 0 {
					t.Fatalf("untouched: %+v", report.Broken)
				}
				for _, q := range c.change {
					tamper(q)
				}
				report := r.verify(kept)
				if len(report.Broken) == 0 || report.Broken[0].Seq != c.seq || !strings.Contains(report.Broken[0].Why, c.why) {
					t.Errorf("%+v", report.Broken)
				}
			})
		})
	}
}

// Somebody who may write to the database can write a good chain. The head that was kept elsewhere tells.
func TestAuditShowsAnotherChain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, r *rig, tamper func(string, ...any)) {
		r.notes(5)
		kept := r.head()
		tamper(`DELETE FROM audit`)
		r.notes(int(kept.Seq) + 5)
		if report := r.verify(); len(report.Broken) > 0 {
			t.Fatalf("the chain itself is good: %+v", report.Broken)
		}
		report := r.verify(kept)
		if len(report.Broken) != 1 || report.Broken[0].Seq != kept.Seq {
			t.Errorf("%+v", report.Broken)
		}
	})
}

// Two Hubs on one database append at the same time, and there is one chain without a gap.
func TestAuditOfSeveralHubs(t *testing.T) {
	dsn := storetest.PostgresDSN(t)
	one, two := newRig(t, storetest.Open(t, dsn)), fleet.New(storetest.Open(t, dsn), nil, nil, fleet.Options{})
	before := one.head().Seq
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for w := range writers {
		hub := one.Fleet
		if w%2 == 1 {
			hub = two
		}
		wg.Go(func() {
			for i := range each {
				if err := hub.NoteIn(context.WithoutCancel(t.Context()), 1+i%3, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	report := one.verify(one.head())
	want := before
	for i := range each {
		want += writers * int64(1+i%3)
	}
	if len(report.Broken) > 0 || report.Rows != want {
		t.Errorf("%d lines instead of %d: %+v", report.Rows, want, report.Broken)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		refuse := func(address string, n int) {
			ctx := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: address})
			for range n {
				r.NoteRefusal(ctx, "device.approve", "", claudehub.Errorf(claudehub.NotFound, "There is no such code."))
			}
		}
		refuse("192.0.2.1", 37)
		refuse("192.0.2.2", 3)
		r.NoteRefusal(r.ctx, "device.approve", "", claudehub.Errorf(claudehub.Unavailable, "The database is away."))
		r.NoteRefusal(r.ctx, "device.approve", "", nil)
		got := r.audit(fleet.AuditFilter{Action: "device.approve"})
		if len(got) != 13 || got[0].Outcome != claudehub.OutcomeRefused || got[0].Detail["code"] != "not_found" || got[0].Detail["why"] != "There is no such code." {
			t.Fatalf("%d lines, %+v", len(got), got[0])
		}
		r.Sweep(r.ctx)
		if n := len(r.audit(fleet.AuditFilter{Action: "device.approve"})); n != 13 {
			t.Errorf("the window is not over, and there are %d lines", n)
		}
		r.clock.move(time.Minute)
		r.Sweep(r.ctx)
		got = r.audit(fleet.AuditFilter{Action: "device.approve"})
		if len(got) != 14 || got[0].Detail["more"] != "27" || got[0].Address != "192.0.2.1" {
			t.Errorf("%d lines, %+v", len(got), got[0])
		}
		refuse("192.0.2.1", 11)
		if n := len(r.audit(fleet.AuditFilter{Action: "device.approve"})); n != 24 {
			t.Errorf("there are %d lines in the next window", n)
		}
		// The end of the Hub loses none.
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		check(t, r.Run(ctx))
		if got := r.audit(fleet.AuditFilter{Action: "device.approve", Limit: 1}); got[0].Detail["more"] != "1" {
			t.Errorf("at the end: %+v", got[0])
		}
		if report := r.verify(r.head()); len(report.Broken) > 0 {
			t.Errorf("%+v", report.Broken)
		}
	})
}

// A crowd of addresses cannot make the log grow without a bound.
func TestRefusalsOfACrowd(t *testing.T) {
	r := newRig(t, openSQLite(t))
	for i := range fleet.MaxRefusers + 50 {
		ctx := fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: fmt.Sprint("2001:db8::", i)})
		r.NoteRefusal(ctx, "sign-in", "", claudehub.Errorf(claudehub.Unauthenticated, "No."))
	}
	if got := r.head().Seq; got > fleet.MaxRefusers+12 {
		t.Errorf("there are %d lines", got)
	}
}
