package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"claude-hub/internal/claudehub"
)

const startLimit = time.Minute

// cluster is the private PostgreSQL server of this process.
var cluster struct {
	once sync.Once
	err  error
	dir  string
	dsn  string
	life io.Closer // while it is open, the server lives
	cmd  *exec.Cmd
}

// PostgresDSN makes an empty database and drops it when the test ends.
func PostgresDSN(tb testing.TB) string {
	tb.Helper()
	admin, err := url.Parse(adminDSN(tb))
	if err != nil {
		tb.Fatal("CLAUDE_HUB_TEST_POSTGRES is not a URL")
	}
	db, err := sql.Open("pgx", admin.String())
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	name := "test_" + claudehub.NewNonce()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for _, stmt := range []string{"CREATE DATABASE " + name, "ALTER DATABASE " + name + " SET timezone TO 'America/St_Johns'"} {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			tb.Fatalf("%s: %v", stmt, err)
		}
	}
	tb.Cleanup(func() { dropDatabase(tb, admin.String(), name) })
	own := *admin
	own.Path = "/" + name
	return own.String()
}

func dropDatabase(tb testing.TB, admin, name string) {
	db, err := sql.Open("pgx", admin)
	if err != nil {
		tb.Error(err)
		return
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if _, err := db.ExecContext(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		tb.Errorf("drop the test's database: %v", err)
	}
}

func adminDSN(tb testing.TB) string {
	tb.Helper()
	if dsn := os.Getenv("CLAUDE_HUB_TEST_POSTGRES"); dsn != "" {
		return dsn
	}
	cluster.once.Do(func() { cluster.err = startCluster() })
	if cluster.err != nil {
		tb.Fatalf("start a private PostgreSQL (install it, or set CLAUDE_HUB_TEST_POSTGRES): %v", cluster.err)
	}
	return cluster.dsn
}

func startCluster() error {
	bin, err := findBinaries()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "hub-pg-")
	if err != nil {
		return err
	}
	cluster.dir = dir
	as, err := unprivileged(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "hub", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return runServer(ctx, bin, data, as)
}

// runServer starts the server under a shell that stops it when our end of a pipe closes: also when this process is
// killed, no server stays behind.
func runServer(ctx context.Context, bin, data string, as *syscall.SysProcAttr) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	var log bytes.Buffer
	// Not with ctx, which is for the start alone.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", `"$@" </dev/null & server=$!; read -r _; kill -INT $server; wait $server`, "sh",
		filepath.Join(bin, "postgres"), "-D", data, "-k", cluster.dir, "-F",
		"-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off", "-c", "full_page_writes=off")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &log, &log
	cmd.SysProcAttr, cmd.Dir = as, cluster.dir
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	cluster.life, cluster.cmd = w, cmd
	cluster.dsn = "postgres://hub@/postgres?" + url.Values{"host": {cluster.dir}}.Encode()
	if err := waitReady(ctx); err != nil {
		stopCluster() // also ends the writes to log
		return fmt.Errorf("postgres is not ready: %w: %s", err, log.String())
	}
	return nil
}

func waitReady(ctx context.Context) error {
	db, err := sql.Open("pgx", cluster.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func stopCluster() {
	if cluster.life != nil {
		cluster.life.Close()
		cluster.life = nil
		_ = cluster.cmd.Wait() // stopped by a signal: that is its error
	}
	if cluster.dir != "" {
		_ = os.RemoveAll(cluster.dir) // a temporary directory: the system clears what stays
	}
}

func findBinaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// unprivileged: PostgreSQL refuses to run as root, so that root's tests give it another user.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("no unprivileged user to run PostgreSQL as")
}
