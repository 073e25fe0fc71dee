package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// resident is the memory of a process that is in RAM, in MB.
func resident(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return float64(kb) / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has ended", pid)
}

// Fields of /proc/PID/stat after the program's name.
const (
	statParent = 1
	statUser   = 11
	statSystem = 12
	// clockTick is the unit of its times, for all programs on Linux.
	clockTick = 10 * time.Millisecond
)

func stat(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) <= statSystem {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// busy is how much processor time a process has used.
func busy(pid int) (time.Duration, error) {
	fields, err := stat(pid)
	if err != nil {
		return 0, err
	}
	user, err := strconv.Atoi(fields[statUser])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[statSystem])
	return time.Duration(user+system) * clockTick, err
}

// terminalProcesses are the tmux server and client of a terminal's life, and the guest agent that runs the client. They
// are in a Sandbox, and seen from outside it.
func terminalProcesses(life string) (tmux, guest hop, err error) {
	tmux.name, guest.name = "tmux", "guest agent"
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return tmux, guest, err
	}
	for _, path := range lines {
		b, err := os.ReadFile(path)
		args := strings.Split(string(b), "\x00")
		if err != nil || filepath.Base(args[0]) != "tmux" || !slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, life) }) {
			continue // another program's, or it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return tmux, guest, err
		}
		tmux.pids = append(tmux.pids, pid)
		if slices.Contains(args, "attach-session") {
			fields, err := stat(pid)
			if err != nil {
				return tmux, guest, err
			}
			parent, err := strconv.Atoi(fields[statParent])
			if err != nil {
				return tmux, guest, err
			}
			guest.pids = []int{parent}
		}
	}
	if len(tmux.pids) == 0 || len(guest.pids) == 0 {
		return tmux, guest, fmt.Errorf("the terminal's processes are not there: tmux %v, guest agent %v", tmux.pids, guest.pids)
	}
	return tmux, guest, nil
}
