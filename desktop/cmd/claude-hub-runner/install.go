package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"claude-hub/desktop/sandbox/microsandbox"
	"claude-hub/internal/claudehub"
)

// installTimeout bounds a download over a slow line.
const installTimeout = 15 * time.Minute

// offerInstall is "doctor --install": it fetches the program that microVMs need, after asking. With yes nobody is asked.
func (c *cli) offerInstall(ctx context.Context, dir string, yes bool) error {
	vms, err := microVMs(dir, c.logger())
	if err != nil {
		return err
	}
	glance, cancel := context.WithTimeout(ctx, glanceTimeout)
	err = vms.Ready(glance)
	cancel()
	if err == nil {
		fmt.Println("microsandbox is ready.")
		return nil
	}
	pkg, err := microsandbox.Package()
	if err != nil {
		return err
	}
	if !yes {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return claudehub.Errorf(claudehub.Invalid, "Nobody can be asked: standard input is no terminal. Add --yes to install %s without asking.", pkg)
		}
		if !agreed(os.Stdin, os.Stdout, fmt.Sprintf("Fetch %s with npm into %s? It is used by this Runner alone.", pkg, vmDir(dir))) {
			fmt.Println("Nothing was changed.")
			return nil
		}
	}
	ctx, cancel = context.WithTimeout(ctx, installTimeout)
	defer cancel()
	if err := vms.Install(ctx); err != nil {
		return err
	}
	fmt.Printf("msb %s is installed.\n", microsandbox.Pinned)
	return nil
}

// agreed asks; anything but a yes is a no.
func agreed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprintf(out, "%s [y/N] ", question)
	line, err := bufio.NewReader(io.LimitReader(in, 1<<10)).ReadString('\n')
	if err != nil {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
