//go:build linux

package bubblewrap

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
)

// bounds is how limits can be put in force on this machine. An empty folder means that a limit cannot be, by cgroups.
type bounds struct {
	memory, processes, cpu string // the cgroup folder under which a Sandbox gets its own
	v2                     bool
}

// findBounds looks for cgroup folders in which we may make another.
func findBounds() bounds {
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // without it there are none
	own, _ := os.ReadFile("/proc/self/cgroup")
	var b bounds
	for line := range strings.Lines(string(mounts)) {
		kind, point, root, options := mountLine(line)
		switch {
		case kind == "cgroup" && slices.Contains(options, "memory"):
			b.memory = writable(place(point, root, ownPath(string(own), "memory")))
		case kind == "cgroup" && slices.Contains(options, "pids"):
			b.processes = writable(place(point, root, ownPath(string(own), "pids")))
		case kind == "cgroup" && slices.Contains(options, "cpu"):
			b.cpu = writable(place(point, root, ownPath(string(own), "cpu")))
		}
	}
	if b.memory != "" || b.processes != "" {
		return b
	}
	for line := range strings.Lines(string(mounts)) {
		kind, point, root, _ := mountLine(line)
		if kind != "cgroup2" {
			continue
		}
		if dir := delegated(point, place(point, root, ownPath(string(own), ""))); dir != "" {
			b := bounds{memory: dir, processes: dir, v2: true}
			if passes(dir, "cpu") {
				b.cpu = dir
			}
			return b
		}
	}
	return bounds{}
}

// mountLine takes from a line of mountinfo the file system's kind, mount point, root and options.
func mountLine(line string) (kind, point, root string, options []string) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 {
		return "", "", "", nil
	}
	return right[0], left[4], left[3], strings.Split(right[2], ",")
}

// ownPath is our cgroup in a hierarchy: that of a controller, or with "" the unified one.
func ownPath(own, controller string) string {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[1], ","), controller) {
			return parts[2]
		}
	}
	return "/"
}

// place is where a cgroup is to be found below its mount. In a container the mount shows a part of the tree.
func place(point, root, own string) string {
	if rel, err := filepath.Rel(root, own); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		own = rel
	}
	dir := filepath.Join(point, own)
	if _, err := os.Stat(dir); err != nil {
		return point
	}
	return dir
}

func writable(dir string) string {
	if unix.Access(dir, unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return ""
	}
	return dir
}

// delegated finds the folder of the unified tree whose children can have limits. Beside our own cgroup is better than
// below: a group with processes in it cannot pass controllers on, and a service's children end with the service.
func delegated(top, own string) string {
	for _, dir := range []string{filepath.Dir(own), own} {
		if !strings.HasPrefix(dir, top) || writable(dir) == "" {
			continue
		}
		control := filepath.Join(dir, "cgroup.subtree_control")
		for _, ask := range []string{"+memory +pids", "+cpu"} { // together, one that is missing would take the others with it
			_ = os.WriteFile(control, []byte(ask), 0) // read back below
		}
		if passes(dir, "memory") && passes(dir, "pids") {
			return dir
		}
	}
	return ""
}

// passes tells whether the children of a folder of the unified tree can have a limit.
func passes(dir, controller string) bool {
	raw, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return slices.Contains(strings.Fields(string(raw)), controller)
}

// rlimitCounts tells whether RLIMIT_NPROC counts a Sandbox's processes alone. Since Linux 5.14 it does, in its user
// namespace; before, it counted all of the user's. Root's are never refused.
func rlimitCounts() bool {
	if os.Geteuid() == 0 {
		return false
	}
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 5 || major == 5 && minor >= 14
}

// cpuPeriod is the kernel's own, in microseconds: a limit of two CPUs is twice as much time in each.
const cpuPeriod = 100_000

// enclose makes the cgroups of a Sandbox, without anyone in them yet.
func (b bounds) enclose(state string, id sandbox.ID, l sandbox.Limits) (dirs []string, err error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(state)) // a hash never fails
	name := fmt.Sprintf("claude-hub-%08x-%s", h.Sum32(), id)
	set := func(parent, file string, amount int, value string) error {
		if parent == "" || amount <= 0 {
			return nil
		}
		dir := filepath.Join(parent, name)
		if !slices.Contains(dirs, dir) {
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("make cgroup: %w", err)
			}
			dirs = append(dirs, dir)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
			return fmt.Errorf("set limit: %w", err)
		}
		return nil
	}
	memory, cpu, share := "memory.limit_in_bytes", "cpu.cfs_quota_us", strconv.Itoa(l.CPUs*cpuPeriod)
	if b.v2 {
		memory, cpu, share = "memory.max", "cpu.max", fmt.Sprintf("%d %d", l.CPUs*cpuPeriod, cpuPeriod)
	}
	err = errors.Join(set(b.memory, memory, int(l.MemoryBytes), strconv.FormatInt(l.MemoryBytes, 10)),
		set(b.processes, "pids.max", l.Processes, strconv.Itoa(l.Processes)), set(b.cpu, cpu, l.CPUs, share))
	if err != nil {
		_ = release(dirs) // they are empty
		return nil, err
	}
	return dirs, nil
}

// enter puts a process, and whatever it will start, under the limits.
func enter(dirs []string, pid int) error {
	for _, dir := range dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("enter cgroup: %w", err)
		}
	}
	return nil
}

// release removes cgroups. Just after their last process ended the kernel may call them busy for a moment.
func release(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		err := unix.Rmdir(dir)
		for end := time.Now().Add(2 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
			err = unix.Rmdir(dir)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("remove cgroup %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
