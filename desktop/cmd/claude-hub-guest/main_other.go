//go:build !linux

// Command claude-hub-guest runs in Sandboxes, which are Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "claude-hub-guest: this program is for Linux Sandboxes; nothing on this system needs it")
	os.Exit(1)
}
