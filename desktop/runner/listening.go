package runner

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// listenScript prints the listening sockets of the Sandbox's network, who has which socket open, and what they are called.
// It needs no more than grep and ls. Where nothing listens, which is most of the time, it looks no further: this runs every
// few seconds, and to list every process's files costs a hundred times as much. Where the network is the machine's own,
// the owners tell which are the Sandbox's.
const listenScript = `l=$(grep -hs ' 0A ' /proc/net/tcp /proc/net/tcp6); [ -n "$l" ] || exit 0
echo "$l"; echo =; ls -l /proc/[0-9]*/fd/ 2>/dev/null; echo =; grep -s . /proc/[0-9]*/comm; exit 0`

// maxListening bounds what is read of that, and maxPorts what is shown of it.
const (
	maxListening = 4 << 20
	maxPorts     = 100
)

// listening asks a Sandbox what listens in it.
func (s *session) listening(ctx context.Context) ([]claudehub.Port, error) {
	p, err := s.on.cfg.Backend.Exec(ctx, s.box(), sandbox.Command{Path: "sh", Args: []string{"-c", listenScript}, Dir: "/"})
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	_ = p.Stdin().Close()
	go func() { _, _ = io.Copy(io.Discard, p.Stderr()) }() // ends with the process
	ports := parseListening(io.LimitReader(p.Stdout(), maxListening))
	_, _ = io.Copy(io.Discard, p.Stdout())
	if _, err := p.Wait(ctx); err != nil {
		return nil, err
	}
	return ports, nil
}

// parseListening reads what listenScript prints. It is a stranger's: what does not have the shape is left out.
func parseListening(r io.Reader) []claudehub.Port {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<10)
	sockets := map[string]uint16{} // by inode
	owners := map[string]string{}  // the process of an inode
	names := map[string]string{}   // of a process
	part, pid := 0, ""
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "=":
			part++
		case part == 0:
			if inode, port, ok := socketLine(line); ok {
				sockets[inode] = port
			}
		case part == 1:
			if dir, ok := strings.CutPrefix(line, "/proc/"); ok {
				pid, _, _ = strings.Cut(dir, "/")
			} else if _, link, ok := strings.Cut(line, "-> socket:["); ok {
				owners[strings.TrimSuffix(link, "]")] = pid
			}
		case part == 2:
			if path, name, ok := strings.Cut(line, ":"); ok {
				names[strings.TrimSuffix(strings.TrimPrefix(path, "/proc/"), "/comm")] = oneLine(name)
			}
		}
	}
	found := map[int]claudehub.Port{}
	for inode, port := range sockets {
		if owner, ours := owners[inode]; ours {
			found[int(port)] = claudehub.Port{Port: int(port), Process: names[owner], Listens: true}
		}
	}
	ports := make([]claudehub.Port, 0, len(found))
	for _, p := range found {
		ports = append(ports, p)
	}
	slices.SortFunc(ports, func(a, b claudehub.Port) int { return cmp.Compare(a.Port, b.Port) })
	return ports[:min(len(ports), maxPorts)]
}

// socketLine reads a line of /proc/net/tcp or tcp6 whose socket can be reached on the loopback.
func socketLine(line string) (inode string, port uint16, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 || !onlyDigits(f[9]) {
		return "", 0, false
	}
	at, ok := procAddr(f[1])
	if !ok || !at.Addr().IsUnspecified() && !at.Addr().Unmap().IsLoopback() {
		return "", 0, false
	}
	return f[9], at.Port(), true
}

// procAddr reads an address as /proc/net/tcp writes it: four bytes at a time in the order of a little-endian machine,
// which all are that this runs on.
func procAddr(s string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr, uint16(n)), ok
}
