// Command claude-hub-guest runs the Runner's commands in a Sandbox and collects every process that ends. It is PID 1 of
// a bubblewrap Sandbox; in a microVM it is started once and goes to the background. The Backend mounts it into each
// Sandbox, read-only; nobody calls it by hand.
//
// In bubblewrap it promises to start nothing before its Runner has written down how to find this Sandbox again: the Runner sends one
// byte on standard input then. When it dies before, the input ends, and so does the Sandbox.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox/agent"
)

// listenFd is where the Backend puts the listening socket: a Sandbox has no path that leads to it.
const listenFd = 3

func main() {
	processes := flag.Uint64("processes", 0, "processes that the Sandbox may have; 0 is no limit of its own")
	scoped := flag.Bool("scoped", false, "is set by this program itself, when it starts itself anew")
	probe := flag.Bool("probe", false, "succeed at once: the trial of the doctor")
	var o vmOptions
	vm := flag.Bool("vm", false, "serve a microVM")
	background := flag.Bool("background", false, "is set by this program itself, with -vm")
	flag.UintVar(&o.port, "port", 0, "with -vm: the vsock port at which the Runner waits")
	flag.UintVar(&o.relayPort, "relay", 0, "with -vm: the vsock port of the relay; 0 is none")
	flag.UintVar(&o.relayAt, "relay-at", 0, "with -vm: where the relay is found on the loopback")
	flag.Parse()
	var err error
	switch {
	case *probe:
	case *vm && *background:
		err = runVM(o)
	case *vm:
		err = enterVM(o)
	default:
		err = run(*processes, *scoped)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "claude-hub-guest:", err)
		os.Exit(1)
	}
}

func run(processes uint64, scoped bool) error {
	if !scoped {
		if n, _ := os.Stdin.Read(make([]byte, 1)); n != 1 {
			return nil // the Runner died before it could note this Sandbox
		}
		if err := scope(); err != nil {
			return err
		}
	}
	if err := seal(processes); err != nil {
		return err
	}
	file := os.NewFile(listenFd, "listener")
	ln, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return fmt.Errorf("take over listener: %w", err)
	}
	ctx := context.Background()
	reaper := process.NewReaper()
	go reaper.Run(ctx) // PID 1 collects to its very end
	return (&agent.Server{Reaper: reaper, Env: os.Environ(), Dir: "/", Version: version()}).Serve(ctx, ln)
}

// seal keeps the Sandbox's programs out of this one, whose memory sees the secrets of all of them.
func seal(processes uint64) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid tracing: %w", err)
	}
	// Whatever else was inherited is for us alone.
	if err := unix.CloseRange(listenFd, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep descriptors: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	if err := unix.Dup3(int(null.Fd()), 0, 0); err != nil {
		return fmt.Errorf("leave standard input: %w", err)
	}
	unix.Umask(0o022)
	if processes == 0 {
		return nil
	}
	limit := unix.Rlimit{Cur: processes, Max: processes}
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
