//go:build linux

package bubblewrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// identity names one process for good: a pid alone is given away again.
type identity struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks after boot
}

// stat is what /proc/PID/stat says of a process.
type stat struct {
	pid, parent int
	state       byte
	start       uint64
	cpuTicks    uint64 // its own, and that of children it collected
	rssPages    int64
}

// readStat reads one process; an error wrapping os.ErrNotExist when there is none.
func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if errors.Is(err, unix.ESRCH) { // it ended between open and read
			err = os.ErrNotExist
		}
		return stat{}, fmt.Errorf("read process: %w", err)
	}
	// The name is in parentheses and may hold anything, even parentheses.
	end := bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[end+1:]))
	if end < 0 || len(fields) < 22 {
		return stat{}, fmt.Errorf("read process %d: unknown format", pid)
	}
	number := func(i int) uint64 {
		n, _ := strconv.ParseUint(fields[i], 10, 64) // a negative one counts as none
		return n
	}
	return stat{
		pid: pid, state: fields[0][0], parent: int(number(1)), start: number(19),
		cpuTicks: number(11) + number(12) + number(13) + number(14), rssPages: int64(number(21)),
	}, nil
}

// identify names a process that is there now.
func identify(pid int) (identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return identity{}, err
	}
	return identity{Pid: pid, Start: s.start}, nil
}

// alive tells whether it still runs. What has ended and was not collected does not.
func (i identity) alive() bool {
	if i.Pid <= 0 {
		return false
	}
	s, err := readStat(i.Pid)
	return err == nil && s.start == i.Start && s.state != 'Z' && s.state != 'X'
}

// open holds on to the process, so that a signal cannot reach another one with its pid. It is nil when it has ended.
func (i identity) open() (*handle, error) {
	if i.Pid <= 0 {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(i.Pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open process: %w", err)
	}
	// Only now, with the pid held, does the start time prove anything.
	if !i.alive() {
		unix.Close(fd)
		return nil, nil
	}
	return &handle{fd}, nil
}

// handle is a process that is held on to. A nil handle is one that has ended.
type handle struct{ fd int }

func (h *handle) close() {
	if h != nil {
		unix.Close(h.fd)
	}
}

func (h *handle) kill() error { return h.signal(unix.SIGKILL) }

// signal succeeds for a process that has ended.
func (h *handle) signal(sig unix.Signal) error {
	if h == nil {
		return nil
	}
	if err := unix.PidfdSendSignal(h.fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process: %w", err)
	}
	return nil
}

// wait returns nil once the process has ended. For the init of a PID namespace that is after everyone in it has.
func (h *handle) wait(ctx context.Context) error {
	if h == nil {
		return nil
	}
	fds := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int((50 * time.Millisecond).Milliseconds()))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// bootID tells this boot of the machine from others: start times begin anew with each.
func bootID() (string, error) {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}
