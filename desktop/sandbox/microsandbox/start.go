package microsandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Start brings a Sandbox up; see sandbox.Backend. The system of one that was stopped is kept, unless the Spec asks for
// another VM than the one it was made for.
func (b *Backend) Start(ctx context.Context, spec sandbox.Spec) error {
	if err := checkID(spec.ID); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx, 2*bootTimeout)
	defer cancel()
	unlock, err := b.lock(ctx, string(spec.ID))
	if err != nil {
		return err
	}
	defer unlock()
	state, err := b.look(ctx, spec.ID)
	switch {
	case err != nil:
		return err
	case state == sandbox.Running:
		return nil
	case state == sandbox.Sick:
		return claudehub.Errorf(claudehub.Conflict, "The Sandbox %s is there and does not answer. Stop it, and start it again.", spec.ID)
	}
	l := &launch{b: b, spec: spec, box: b.box(spec.ID)}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if err := l.run(ctx); err != nil {
		l.undo(context.WithoutCancel(ctx))
		return sentence(ctx, err, "The Sandbox did not start")
	}
	return nil
}

// launch is one try to start a Sandbox.
type launch struct {
	b     *Backend
	spec  sandbox.Spec
	box   box
	order order
	image imageRecord
	rec   record
	known bool // the VM was there before, with a system worth keeping
}

// prepare finds everything that can be refused without a VM, and writes down what is about to be.
func (l *launch) prepare(ctx context.Context) error {
	if _, err := l.b.tool(ctx); err != nil {
		return err
	}
	if err := errors.Join(hypervisor(), affordable(l.spec.Limits)); err != nil {
		return err
	}
	if needsRoute(l.spec) && !routed() {
		return claudehub.Errorf(claudehub.Unavailable,
			"This machine has no IPv4 default route, and without one its microVMs have no network. Connect it to a network, and wake the Session again.")
	}
	if n := len(l.box.socket()) - maxSocketPath(); n > 0 {
		return claudehub.Errorf(claudehub.Invalid, "The path %s is %d characters too long for a socket. Choose a shorter state folder, with --dir.", l.box.socket(), n)
	}
	if err := l.b.copyGuest(); err != nil {
		return err
	}
	// From here until the record is there, the Image must not go.
	unlock, err := l.b.lock(ctx, catalogLock)
	if err != nil {
		return err
	}
	defer unlock()
	if l.image, err = l.b.image(l.spec.Image); err != nil {
		return err
	}
	if l.order, err = l.b.order(l.spec, l.image); err != nil {
		return err
	}
	if err := os.MkdirAll(l.box.tmp(), 0o700); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox's folder %s cannot be made. Free some space there, or mend its permissions.", l.box.dir)
	}
	old, err := l.box.load()
	if err != nil {
		return err
	}
	l.known = old != nil && old.Made == l.order.hash
	l.rec = record{Image: l.spec.Image, Relay: l.spec.Relay, Memory: orDefault(l.spec.Limits.MemoryBytes, defaultMemory)}
	if l.known {
		l.rec.Made = old.Made
	}
	return l.box.save(l.rec)
}

func (l *launch) run(ctx context.Context) error {
	// Before the VM is there, so that its guest reaches us at its first call; anew, since the relay may be another.
	if err := l.b.closeDoor(l.spec.ID); err != nil {
		return err
	}
	if _, err := l.b.door(l.spec.ID); err != nil {
		return err
	}
	var err error
	if l.known {
		err = l.start(ctx)
		if l.known = !unknown(err); !l.known { // its record outlived it
			err = l.create(ctx)
		}
	} else {
		err = l.create(ctx)
	}
	if err != nil {
		return err
	}
	pid, err := l.b.pid(l.spec.ID)
	if err != nil {
		return err
	}
	if pid == 0 {
		return errors.New("the VM ended at once")
	}
	l.rec.Made, l.rec.Pid, l.rec.Started = l.order.hash, pid, time.Now().UTC()
	if err := l.box.save(l.rec); err != nil {
		return err
	}
	return l.b.greet(ctx, l.spec.ID)
}

// create makes the VM anew, in the place of whatever of that name is there. msb is asked to remove only what left a
// trace, since each call of it takes its time; when it knows of one that left none, it says so.
func (l *launch) create(ctx context.Context) error {
	if l.b.traces(l.spec.ID) {
		if err := l.b.discard(ctx, l.spec.ID); err != nil {
			return err
		}
	}
	err := l.make(ctx)
	var f *failure
	if errors.As(err, &f) && f.says("already exists") {
		if err := l.b.discard(ctx, l.spec.ID); err != nil {
			return err
		}
		err = l.make(ctx)
	}
	return err
}

func (l *launch) make(ctx context.Context) error {
	if l.image.Kind == committed {
		return l.copy(ctx)
	}
	args := append([]string{"create", "--root-disk", mib(l.order.disk)}, l.order.args...)
	_, err := l.b.msb(ctx, call{args: append(args, l.image.handle()), tmp: l.box.tmp(), timeout: bootTimeout})
	return err
}

// traces tells whether anything of a VM is on this machine.
func (b *Backend) traces(id sandbox.ID) bool {
	for _, path := range []string{b.disk(id), filepath.Dir(agentSocket(b.home(), b.vm(id)))} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	pid, err := b.pid(id)
	return err != nil || pid != 0
}

// copy makes the VM of a committed Image: that of the image beneath it, with a copy of the committed disk in the place of
// its own. msb's own way, "run --from-snapshot", always starts a command as well and ends the VM when that could not be
// started within ten seconds of the boot.
func (l *launch) copy(ctx context.Context) error {
	from := filepath.Join(l.b.snapshot(l.image.Image), "upper.ext4")
	info, err := os.Stat(from)
	if err != nil {
		return claudehub.WithCause(claudehub.NotFound, err, "The image %s is damaged: its disk is gone. Remove it, and build the Environment again.", l.image.Image)
	}
	disk := max(l.order.disk, info.Size()) // msb enlarges a disk, and never makes one smaller
	args := append([]string{"create", "--root-disk", mib(disk)}, l.order.args...)
	if _, err := l.b.msb(ctx, call{args: append(args, reference(l.image.Base)), tmp: l.box.tmp(), timeout: bootTimeout}); err != nil {
		return err
	}
	if err := l.b.kill(ctx, l.spec.ID); err != nil { // nothing of that boot is kept
		return err
	}
	to := filepath.Join(l.b.disk(l.spec.ID), "upper.ext4")
	if err := copySparse(ctx, from, to+".new"); err != nil {
		return err
	}
	if err := os.Rename(to+".new", to); err != nil {
		return fmt.Errorf("put the disk in place: %w", err)
	}
	return l.start(ctx)
}

// copySparse copies a disk with its holes, or shares its blocks where the file system can.
func copySparse(ctx context.Context, from, to string) error {
	args := []string{"--reflink=auto", "--sparse=always", "--", from, to}
	if runtime.GOOS == "darwin" {
		args = []string{"-c", "--", from, to}
	}
	r, err := process.Run(ctx, process.Command{Path: "cp", Args: args, Env: []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}})
	if err == nil && r.Code != 0 {
		err = &failure{"cp", r.Code, tail(r.Stderr)}
	}
	return err
}

// errNoDisk is a VM that msb may still know, and whose system is gone.
var errNoDisk = errors.New("the VM's disk is gone")

// unknown tells that there is no such VM to start.
func unknown(err error) bool {
	var f *failure
	return errors.Is(err, errNoDisk) || errors.As(err, &f) && f.says("sandbox not found")
}

func (l *launch) start(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(l.b.disk(l.spec.ID), "upper.ext4")); err != nil {
		return errNoDisk
	}
	_, err := l.b.msb(ctx, call{args: []string{"start", l.b.vm(l.spec.ID)}, tmp: l.box.tmp(), timeout: bootTimeout})
	var f *failure
	if errors.As(err, &f) && f.says("already running") {
		return nil
	}
	return err
}

// undo ends what run began. The system of a VM that was there before is kept.
func (l *launch) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.b.times(callTimeout))
	defer cancel()
	if said := l.b.logTail(l.spec.ID); said != "" { // soon it is gone
		l.b.log.Error("a VM did not start", "sandbox", l.spec.ID, "said", said)
	}
	err := l.b.kill(ctx, l.spec.ID)
	if !l.known {
		err = errors.Join(err, l.b.discard(ctx, l.spec.ID), l.b.closeDoor(l.spec.ID), os.RemoveAll(l.box.dir))
	}
	if err != nil {
		l.b.log.Error("a half-started Sandbox left something behind", "sandbox", l.spec.ID, "error", err)
	}
}

// logTail is the end of what msb and the guest's kernel wrote about a VM's start. No command's output is among it.
func (b *Backend) logTail(id sandbox.ID) string {
	var all strings.Builder
	for _, name := range []string{"boot-error.json", "runtime.log", "kernel.log"} {
		raw, err := os.ReadFile(filepath.Join(b.disk(id), "logs", name))
		if err == nil && len(raw) > 0 {
			fmt.Fprintf(&all, "%s: %s\n", name, tail(raw))
		}
	}
	return all.String()
}

// registered tells whether msb knows the VM and has its disk. msb looks at the process, too, and so notes a VM that
// ended unseen.
func (b *Backend) registered(ctx context.Context, id sandbox.ID) (bool, error) {
	if _, err := os.Stat(filepath.Join(b.disk(id), "upper.ext4")); err != nil {
		return false, nil //nolint:nilerr // without its disk it is none, whatever msb thinks
	}
	out, err := b.msb(ctx, call{args: []string{"ps", b.vm(id), "--format", "json"}})
	var f *failure
	if errors.As(err, &f) && f.says("not found") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var told struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(out, &told) == nil && told.Name == b.vm(id), nil
}

// discard removes a VM in whatever state it is: running, unknown to msb, or half there.
func (b *Backend) discard(ctx context.Context, id sandbox.ID) error {
	_, err := b.msb(ctx, call{args: []string{"rm", "-f", b.vm(id)}}) // which ends its process, too, if it knows of it
	if unknown(err) {
		err = nil
	}
	if err := errors.Join(err, b.kill(ctx, id)); err != nil {
		return err
	}
	// What a create that failed or was killed left, msb does not know.
	left := []string{b.disk(id), filepath.Dir(agentSocket(b.home(), b.vm(id)))}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return claudehub.WithCause(claudehub.Unavailable, err, "The folder %s cannot be removed. Mend its permissions, and try again.", dir)
		}
	}
	return nil
}

func (b *Backend) guestCopy() string { return filepath.Join(b.state, "guest") }

// copyGuest keeps the guest program in the state folder: there the file system is known to be good for mounts, and its
// path stays the same whichever way the Runner is updated.
func (b *Backend) copyGuest() error {
	have, err := os.Stat(b.guestCopy())
	want, wantErr := os.Stat(b.guest)
	if wantErr != nil {
		return claudehub.WithCause(claudehub.Unavailable, wantErr, "The program %s is not there. Install the Runner again, whole.", b.guest)
	}
	if err == nil && have.Size() == want.Size() && have.ModTime().Equal(want.ModTime()) {
		return nil
	}
	in, err := os.Open(b.guest)
	if err != nil {
		return fmt.Errorf("copy guest: %w", err)
	}
	defer in.Close()
	out, err := os.CreateTemp(b.state, ".guest-*")
	if err != nil {
		return noRecord(b.guestCopy(), err)
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close(), os.Chtimes(out.Name(), want.ModTime(), want.ModTime()))
	if err == nil {
		err = os.Rename(out.Name(), b.guestCopy())
	}
	if err != nil {
		os.Remove(out.Name()) // what matters has failed already
		return noRecord(b.guestCopy(), err)
	}
	return nil
}
