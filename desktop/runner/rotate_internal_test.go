package runner

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claude-hub/desktop/keychain"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// pairedFolder is a state folder that is paired with a Hub.
func pairedFolder(t *testing.T, hub string, token claudehub.Token) (*PairingStore, string) {
	t.Helper()
	dir := t.TempDir()
	store := NewPairingStore(dir, fileKeys(t, dir))
	if err := store.Keep(t.Context(), Pairing{Hub: hub, Runner: "run_one", Since: now()}, token); err != nil {
		t.Fatal(err)
	}
	return store, dir
}

func fileKeys(t *testing.T, dir string) *keychain.Store {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	keys, err := keychain.Open(t.Context(), keychain.Options{Dir: filepath.Join(dir, "keys")})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// openTest opens the Hub of a folder, with a token loop that is run by the test.
func openTest(t *testing.T, store *PairingStore) (*Hub, *tokenLoop) {
	t.Helper()
	hub, err := OpenHub(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.client.CloseIdleConnections)
	loop := newTokenLoop(hub, func() bool { return true }, func() {}, quiet())
	loop.remember()
	loop.stamp, loop.life, loop.rest = hub.stamp, 0, time.Nanosecond
	return hub, loop
}

// use makes a request, as any loop of a Runner does.
func use(t *testing.T, hub *Hub) {
	t.Helper()
	if _, err := hub.Events(t.Context(), wire.Events{}); err != nil {
		t.Errorf("the Runner does not get in: %v", err)
	}
}

func step(t *testing.T, loop *tokenLoop) {
	t.Helper()
	if err := loop.step(t.Context()); err != nil {
		t.Error(err)
	}
}

// tokenHub serves the two routes that a rotation needs. Its hooks run before and after each request is acted on.
func tokenHub(t *testing.T, rules *tokenRules, before, after func(path string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before(r.URL.Path)
		answer := httptest.NewRecorder()
		switch {
		case !rules.take(r):
			problem(answer, http.StatusUnauthorized, claudehub.Unauthenticated, "This Runner is not known.")
		case r.URL.Path == wire.TokenPath:
			rules.give(answer, r)
		default:
			_, _ = answer.WriteString(`{"stored":[]}`)
		}
		after(r.URL.Path)
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(server.Close)
	return server
}

func nothing(string) {}

// TestRotation: the next token is on the disk before it is used, and alone there once the Hub has taken it.
func TestRotation(t *testing.T) {
	first := claudehub.NewToken(claudehub.RunnerToken)
	rules := &tokenRules{good: first}
	store, dir := pairedFolder(t, tokenHub(t, rules, nothing, nothing).URL, first)
	hub, loop := openTest(t, store)
	before, err := store.Read()
	if err != nil {
		t.Fatal(err)
	}
	step(t, loop)
	if made, _, _ := rules.counts(); made != 0 {
		t.Fatal("it rotates a token that it has not seen to work")
	}
	use(t, hub)
	step(t, loop)
	good, next, err := store.tokens(t.Context())
	if err != nil || good != first || next != rules.next || next.IsZero() {
		t.Fatalf("on disk before the first use: %v %v, %v", good == first, next == rules.next, err)
	}
	use(t, hub)
	loop.life = time.Hour
	step(t, loop)
	good, next, err = store.tokens(t.Context())
	if err != nil || good != rules.good || good == first || !next.IsZero() {
		t.Errorf("on disk at the end: %v %v, %v", good == rules.good, next, err)
	}
	after, err := store.Read()
	if err != nil || after.Since.Before(before.Since) || after.Runner != "run_one" {
		t.Errorf("the pairing is %+v, %v", after, err)
	}
	step(t, loop)
	if made, used, denied := rules.counts(); made != 1 || used != 1 || denied != 0 {
		t.Errorf("the Hub made %d, saw %d used, and refused %d", made, used, denied)
	}
	modes(t, dir)
}

// modes sees to it that nobody else reads what is kept.
func modes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNewTokenThatIsRefused: the Runner falls back to the one that it had, and forgets the other.
func TestNewTokenThatIsRefused(t *testing.T) {
	first := claudehub.NewToken(claudehub.RunnerToken)
	rules := &tokenRules{good: first, spoilt: true}
	store, _ := pairedFolder(t, tokenHub(t, rules, nothing, nothing).URL, first)
	hub, loop := openTest(t, store)
	use(t, hub)
	step(t, loop)
	loop.life = time.Hour
	if _, next, err := store.tokens(t.Context()); err != nil || next.IsZero() {
		t.Fatalf("no next token: %v", err)
	}
	use(t, hub)
	step(t, loop)
	good, next, err := store.tokens(t.Context())
	if err != nil || good != first || !next.IsZero() {
		t.Errorf("on disk: %v %v, %v", good == first, next, err)
	}
	if _, _, denied := rules.counts(); denied != 1 {
		t.Errorf("the Hub refused %d times", denied)
	}
}

// TestRequestsUnderWay: those that were signed with the old token when the Hub saw the new one are asked again with that.
func TestRequestsUnderWay(t *testing.T) {
	first := claudehub.NewToken(claudehub.RunnerToken)
	rules := &tokenRules{good: first}
	held, go1 := make(chan struct{}), make(chan struct{})
	slow := true
	server := tokenHub(t, rules, func(path string) {
		if path == wire.StatusPath && slow {
			slow = false
			close(held)
			<-go1
		}
	}, nothing)
	store, _ := pairedFolder(t, server.URL, first)
	hub, loop := openTest(t, store)
	use(t, hub)
	late := make(chan error, 1)
	go func() {
		_, err := hub.Status(t.Context(), wire.Status{})
		late <- err
	}()
	<-held
	step(t, loop)
	use(t, hub)
	close(go1)
	if err := <-late; err != nil {
		t.Errorf("the one under way: %v", err)
	}
	if _, used, denied := rules.counts(); used != 1 || denied != 1 {
		t.Errorf("%d used, %d refused", used, denied)
	}
}

// killed marks this test binary, run again as a Runner that is killed: "folder operation".
const killedMark = "CLAUDE_HUB_TEST_KILLED"

// killingKeys kill the process, without another word, at their nth write: before it, or after.
type killingKeys struct {
	Keys
	left *int
}

func (k killingKeys) tick() {
	if *k.left--; *k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (k killingKeys) Set(ctx context.Context, name, value string) error {
	k.tick()
	err := k.Keys.Set(ctx, name, value)
	k.tick()
	return err
}

func (k killingKeys) Delete(ctx context.Context, name string) error {
	k.tick()
	err := k.Keys.Delete(ctx, name)
	k.tick()
	return err
}

// TestKilledRunner is the other half of TestRotationSurvivesKills: by itself it says so and does nothing.
func TestKilledRunner(t *testing.T) {
	dir, at, ok := strings.Cut(os.Getenv(killedMark), " ")
	if !ok {
		return
	}
	left, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	store := NewPairingStore(dir, killingKeys{fileKeys(t, dir), &left})
	hub, loop := openTest(t, store)
	use(t, hub)
	step(t, loop) // asks for the next token
	use(t, hub)   // its first use
	loop.life = time.Hour
	step(t, loop) // writes that down
	fmt.Println("the rotation is over")
}

// TestRotationSurvivesKills kills a Runner with SIGKILL between each two steps of a rotation: before and after each write
// of the Runner, and before and after the Hub acts on each of its requests. The next process always gets in, and rotates.
func TestRotationSurvivesKills(t *testing.T) {
	const never = 1 << 30
	type kill struct {
		name   string
		write  int    // at which tick of the Runner's writes
		path   string // or at which request of this route
		after  bool   // once the Hub has acted on it
		number int64
	}
	var kills []kill
	for n := 1; n <= 8; n++ { // one write of the next token, two of the first, one delete; each before and after
		kills = append(kills, kill{name: fmt.Sprintf("write %d", n), write: n})
	}
	for _, after := range []bool{false, true} {
		kills = append(kills,
			kill{fmt.Sprintf("asking, after %v", after), never, wire.TokenPath, after, 1},
			kill{fmt.Sprintf("first use, after %v", after), never, wire.EventsPath, after, 2})
	}
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			first := claudehub.NewToken(claudehub.RunnerToken)
			rules := &tokenRules{good: first}
			child := make(chan *os.Process, 1)
			var seen atomic.Int64 // requests of the route; those of the next process come after the number
			strike := func(after bool) func(string) {
				return func(path string) {
					if path != k.path {
						return
					}
					if !after {
						seen.Add(1)
					}
					if after == k.after && seen.Load() == k.number {
						p := <-child
						_ = p.Kill() // it is waited for below
						child <- p
						panic(http.ErrAbortHandler) // the Hub does no more than it did: the next process is not raced
					}
				}
			}
			server := tokenHub(t, rules, strike(false), strike(true))
			store, dir := pairedFolder(t, server.URL, first)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilledRunner$")
			cmd.Env = append(os.Environ(), killedMark+"="+dir+" "+strconv.Itoa(k.write))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			child <- cmd.Process
			err := cmd.Wait()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("it was not killed: %v\n%s", err, out.String())
			}

			hub, loop := openTest(t, store)
			use(t, hub)
			for range 2 { // what the other began, and one rotation of its own
				step(t, loop)
				use(t, hub)
			}
			loop.life = time.Hour
			step(t, loop)
			good, next, err := store.tokens(t.Context())
			if err != nil || good != rules.good || good == first || !next.IsZero() {
				t.Errorf("in the end: %v %v, %v", good == rules.good, next, err)
			}
		})
	}
}

// TestWholeRotationHasSoManyWrites keeps the one above honest: with no kill the other process comes to its end, and with a
// ninth tick as well.
func TestWholeRotationHasSoManyWrites(t *testing.T) {
	first := claudehub.NewToken(claudehub.RunnerToken)
	server := tokenHub(t, &tokenRules{good: first}, nothing, nothing)
	_, dir := pairedFolder(t, server.URL, first)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilledRunner$")
	cmd.Env = append(os.Environ(), killedMark+"="+dir+" 9")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the rotation is over") {
		t.Errorf("%v\n%s", err, out)
	}
}
