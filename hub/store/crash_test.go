package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

const crashEnv = "STORE_TEST_CRASH_DSN"

// TestKilledWriter kills a process in the middle of its writes, several times, and looks at what is left: every write
// that it had said was done is there, and no transaction is there in half.
func TestKilledWriter(t *testing.T) {
	if dsn := os.Getenv(crashEnv); dsn != "" {
		writeUntilKilled(t, dsn)
		return
	}
	for name, dsn := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "hub.db"), "postgres": storetest.PostgresDSN(t),
	} {
		t.Run(name, func(t *testing.T) {
			st := storetest.Open(t, dsn)
			populate(t, st)
			st.Close()
			for round := range 4 {
				said := runAndKill(t, dsn, 10+7*round)
				st := storetest.Open(t, dsn)
				r, sessions := crashState(t, st)
				if r.Seq < said {
					t.Errorf("the child had written %d and %d is there", said, r.Seq)
				}
				if s := sessions[0]; s.Seq != r.Seq || s.Generation != r.Seq || r.Name != fmt.Sprint("name ", r.Seq) {
					t.Errorf("half a transaction: runner %d %q, session %d %d", r.Seq, r.Name, s.Seq, s.Generation)
				}
				st.Close()
			}
		})
	}
}

func crashState(t testing.TB, st *store.Store) (store.Runner, []store.Session) {
	t.Helper()
	ctx := t.Context()
	p, err := st.Read().PersonByLogin(ctx, "local")
	check(t, err)
	runners, err := st.Read().Runners(ctx, p.ID)
	check(t, err)
	sessions, err := st.Read().SessionsOf(ctx, p.ID, false)
	check(t, err)
	return runners[0], sessions
}

// runAndKill kills the child after it has said so many lines, and returns the last number that it said.
func runAndKill(t *testing.T, dsn string, lines int) int64 {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), crashEnv+"="+dsn)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	scan := bufio.NewScanner(out)
	var said int64
	for scan.Scan() {
		if n, err := fmt.Sscanf(scan.Text(), "wrote %d", &said); n != 1 || err != nil {
			t.Errorf("the child said %q", scan.Text())
		}
		if lines--; lines == 0 {
			check(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the child ended with %v", err)
	}
	return said
}

func writeUntilKilled(t *testing.T, dsn string) {
	ctx := context.Background()
	st, err := store.Open(ctx, dsn)
	check(t, err)
	r, sessions := crashState(t, st)
	s := sessions[0]
	for {
		check(t, st.Write(ctx, func(q store.Q) error {
			seq, err := q.NextSeq(ctx, r.ID)
			if err != nil {
				return err
			}
			s.Seq, s.Generation = seq, seq
			if err := q.SetRunnerName(ctx, r.ID, fmt.Sprint("name ", seq)); err != nil {
				return err
			}
			if err := q.SetDesired(ctx, s); err != nil {
				return err
			}
			return q.SetMachine(ctx, r.ID, claudehub.Machine{Hostname: strings.Repeat("x", 100_000)}) // many pages
		}))
		fmt.Println("wrote", s.Seq)
	}
}
