package hub

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// auditOn is a Hub's inner parts with some lines in its audit log, and what keeps its head.
type auditOn struct {
	*hubOn
	said *bytes.Buffer
}

func newAuditOn(t *testing.T, cfg Store) *auditOn {
	t.Helper()
	return &auditOn{mustOpen(t, cfg), &bytes.Buffer{}}
}

func (a *auditOn) notes(n int) {
	a.t.Helper()
	for i := range n {
		err := a.parts.store.Write(a.t.Context(), func(q store.Q) error {
			return q.Note(claudehub.AuditEntry{At: time.Now(), Kind: claudehub.ActorSystem, Action: "test", Target: fmt.Sprint(i), Outcome: claudehub.OutcomeOK})
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *auditOn) keeper() *headKeeper {
	return newHeadKeeper(a.fleet, a.cfg.Data, slog.New(slog.NewTextHandler(a.said, nil)))
}

func (a *auditOn) kept() fleet.AuditHead {
	a.t.Helper()
	h, err := readHead(filepath.Join(a.cfg.Data, headFile))
	if err != nil {
		a.t.Fatal(err)
	}
	return h
}

func (a *auditOn) verify() fleet.AuditReport {
	a.t.Helper()
	admin := &Admin{cfg: a.cfg, parts: a.parts}
	r, err := admin.VerifyAudit(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

// exec changes rows behind the Hub's back, as somebody with the database can.
func (a *auditOn) exec(query string) {
	a.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(a.cfg.Data, "hub.db"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(a.t.Context(), query); err != nil {
		a.t.Fatal(err)
	}
}

func TestTheHeadOfTheAuditLogIsKept(t *testing.T) {
	a := newAuditOn(t, Store{Data: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.keeper().run(ctx) }()
	a.notes(3)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	first := a.kept()
	if first.Seq < 3 {
		t.Errorf("at the end the head is %+v", first)
	}
	info, err := os.Stat(filepath.Join(a.cfg.Data, headFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	a.notes(2)
	a.keeper().begin(t.Context())
	if now := a.kept(); now.Seq != first.Seq+2 {
		t.Errorf("after two lines more the head is %+v", now)
	}
	if r := a.verify(); len(r.Broken) != 0 || r.Rows != first.Seq+2 {
		t.Errorf("the report is %+v", r)
	}
	if a.said.Len() > 0 {
		t.Errorf("it says %s", a.said)
	}
}

// A head that shows what was done to the log is not overwritten by the next start.
func TestTheHeadStaysAsEvidence(t *testing.T) {
	for name, harm := range map[string]string{
		"the end is cut off": `DELETE FROM audit WHERE seq > 3`,
		"all is gone":        `DELETE FROM audit`,
		"a line was changed": `UPDATE audit SET hash = 'x' WHERE seq = (SELECT max(seq) FROM audit)`,
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuditOn(t, Store{Data: t.TempDir()})
			a.notes(6)
			a.keeper().begin(t.Context())
			was := a.kept()
			a.exec(harm)
			again := a.keeper()
			again.begin(t.Context())
			a.notes(10) // the log grows past the head that was kept
			again.keep(t.Context())
			a.keeper().begin(t.Context())
			if now := a.kept(); now != was {
				t.Errorf("the head was %+v and is %+v", was, now)
			}
			if !strings.Contains(a.said.String(), "audit verify") {
				t.Errorf("it says %q", a.said)
			}
			if r := a.verify(); len(r.Broken) == 0 {
				t.Errorf("the report is %+v", r)
			}
		})
	}
}

func TestADamagedHead(t *testing.T) {
	a := newAuditOn(t, Store{Data: t.TempDir()})
	a.notes(1)
	path := filepath.Join(a.cfg.Data, headFile)
	for _, text := range []string{"", "{", `{"seq":-1}`, `{"seq":2,"hash":""}`, `[]`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a.keeper().begin(t.Context())
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
		admin := &Admin{cfg: a.cfg, parts: a.parts}
		if _, err := admin.VerifyAudit(t.Context()); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}
