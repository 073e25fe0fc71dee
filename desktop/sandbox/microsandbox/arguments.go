package microsandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

const (
	guestPath = "/.claude-hub/guest"
	// The vsock ports that a VM's guest calls.
	execPort  = 7101
	relayPort = 7102
	// relayAt is where the Runner's relay is found on a VM's own loopback.
	relayAt = 8377

	defaultMemory = 2 << 30
	defaultDisk   = 20 << 30
	// noQuota is what a folder's own quota is when nobody set one: msb's default of 4 GB is too little for a workspace.
	noQuota = 1 << 40
)

// order is what msb is asked for: the arguments, and a hash of all that the VM is made from.
type order struct {
	args []string
	disk int64 // of the VM's own disk, in bytes
	hash string
}

// order puts a Spec into msb's words.
func (b *Backend) order(spec sandbox.Spec, image imageRecord) (order, error) {
	cpus := spec.Limits.CPUs
	if cpus <= 0 {
		cpus = min(2, runtime.NumCPU())
	}
	memory, disk := orDefault(spec.Limits.MemoryBytes, defaultMemory), orDefault(spec.Limits.DiskBytes, defaultDisk)
	quota := orDefault(spec.Limits.DiskBytes, noQuota)
	if spec.Build {
		disk = max(disk, defaultDisk) // what is made of it cannot be smaller later, and costs nothing until it is used
	}
	args := []string{
		"-q", "-n", b.vm(spec.ID), "-c", strconv.Itoa(cpus), "-m", mib(memory), "--pull", "never",
		"--hostname", "sandbox", "-w", "/", "--log-level", "warn",
	}
	var port uint16
	if spec.Relay.Socket == "" {
		port = spec.Relay.Port
	}
	net, err := network(spec.Network, port)
	if err != nil {
		return order{}, err
	}
	args = append(args, net...)
	args = append(args, "--vsock", fmt.Sprintf("%s:%d", b.box(spec.ID).socket(), execPort))
	if spec.Relay.Socket != "" {
		args = append(args, "--vsock", fmt.Sprintf("%s:%d", b.box(spec.ID).relay(), relayPort))
	}
	mounts := append([]sandbox.Mount{{Host: b.guestCopy(), Guest: guestPath, ReadOnly: true}}, spec.Mounts...)
	for _, m := range mounts {
		arg, err := mount(m, quota)
		if err != nil {
			return order{}, err
		}
		args = append(args, arg...)
	}
	raw, err := json.Marshal([]any{args, disk, image.Image, image.Kind})
	if err != nil {
		return order{}, fmt.Errorf("hash spec: %w", err)
	}
	sum := sha256.Sum256(raw)
	return order{args, disk, hex.EncodeToString(sum[:16])}, nil
}

func orDefault(n, otherwise int64) int64 {
	if n <= 0 {
		return otherwise
	}
	return n
}

func mib(n int64) string { return strconv.FormatInt(max(1, (n+1<<20-1)>>20), 10) + "M" }

// mount is a host folder or file in a VM.
func mount(m sandbox.Mount, quota int64) ([]string, error) {
	for _, p := range []string{m.Host, m.Guest} {
		if !filepath.IsAbs(p) || strings.ContainsAny(p, ":,\x00\n") {
			return nil, claudehub.Errorf(claudehub.Invalid,
				"%q cannot be mounted into a microVM: it has to be an absolute path without colon, comma or line break. Choose another folder.", p)
		}
	}
	info, err := os.Stat(m.Host)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.NotFound, err, "%s is not there, and the Sandbox needs it. Put it back, and try again.", m.Host)
	}
	kind := "--mount-dir"
	if !info.IsDir() {
		kind = "--mount-file"
	}
	arg := m.Host + ":" + m.Guest
	if m.ReadOnly {
		return []string{kind, arg + ":ro"}, nil
	}
	return []string{kind, arg + ":quota=" + mib(quota)}, nil
}

// affordable refuses what this machine does not have.
func affordable(l sandbox.Limits) error {
	if l.CPUs > runtime.NumCPU() {
		return claudehub.Errorf(claudehub.Invalid, "The Environment wants %d CPUs, and this machine has %d. Give it fewer.", l.CPUs, runtime.NumCPU())
	}
	if l.MemoryBytes > math.MaxInt64>>1 {
		return claudehub.Errorf(claudehub.Invalid, "The Environment wants more memory than any machine has. Give it less.")
	}
	total, err := mem.VirtualMemory()
	if err == nil && l.MemoryBytes > int64(total.Total) { //nolint:gosec // no machine has 8 EiB
		return claudehub.Errorf(claudehub.Invalid, "The Environment wants %s of memory, and this machine has %s. Give it less.",
			size(l.MemoryBytes), size(int64(total.Total))) //nolint:gosec // likewise
	}
	if l.MemoryBytes != 0 && l.MemoryBytes < leastMemory {
		return claudehub.Errorf(claudehub.Invalid, "The Environment has %s of memory, and a microVM needs %s. Give it more.", size(l.MemoryBytes), size(leastMemory))
	}
	return nil
}

// leastMemory is what a guest's system needs to boot.
const leastMemory = 128 << 20

func size(n int64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}
