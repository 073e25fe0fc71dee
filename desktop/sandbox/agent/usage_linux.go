package agent

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// usage reads the system's own figures; what cannot be read is zero.
func usage() Usage {
	var u Usage
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		kb := map[string]int64{}
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) >= 2 {
				n, _ := strconv.ParseInt(f[1], 10, 64) // a line that is no number is none of ours
				kb[f[0]] = n
			}
		}
		u.Memory = (kb["MemTotal:"] - kb["MemAvailable:"]) << 10
	}
	for _, pid := range Processes() {
		if pid != os.Getpid() && pid != 1 {
			u.Processes++
		}
	}
	return u
}

// Processes lists the programs that run in this system, the kernel's own threads apart.
func Processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if !ended(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ended tells that a process is none that runs a program: it is gone, was not collected yet, or is the kernel's.
func ended(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	// The name is in parentheses and may hold anything.
	rest := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	const kernelThread = 0x00200000 // PF_KTHREAD
	if len(rest) < 7 {
		return true
	}
	flags, _ := strconv.ParseUint(rest[6], 10, 64)
	return rest[0] == "Z" || rest[0] == "X" || flags&kernelThread != 0
}
