package agent

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo terminal: our end, and the command's. Ours does not block, so that a close ends a read.
func openTerminal(cols, rows uint16) (ours, theirs *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	ours = os.NewFile(uintptr(fd), "/dev/ptmx")
	defer func() {
		if err != nil {
			ours.Close()
		}
	}()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock terminal: %w", err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number terminal: %w", err)
	}
	if err := setSize(ours, cols, rows); err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.FormatUint(uint64(n), 10), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open terminal: %w", err)
	}
	return ours, theirs, nil
}

// setSize tells a terminal its size; the kernel tells the programs on it. It does not go through File.Fd, which would
// make our end block.
func setSize(f *os.File, cols, rows uint16) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	return nil
}
