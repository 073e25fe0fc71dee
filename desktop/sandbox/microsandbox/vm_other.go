//go:build !linux

package microsandbox

import (
	"fmt"

	"github.com/shirou/gopsutil/v4/process"
)

// commandLine is how a process was started; nil when there is none, or none that tells.
func commandLine(pid int) []string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil
	}
	args, err := p.CmdlineSlice()
	if err != nil {
		return nil
	}
	return args
}

// pids are all processes of the machine.
func pids() ([]int, error) {
	all, err := process.Pids()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	found := make([]int, len(all))
	for i, pid := range all {
		found[i] = int(pid)
	}
	return found, nil
}
