package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/client"
	"claude-hub/internal/wire"
)

const life = "00000000000000000000000000"

func snapshot(cols, rows int, data string) client.Frame {
	return client.Frame{Kind: wire.FrameSnapshot, Life: life, Cols: uint16(cols), Rows: uint16(rows), Data: []byte(data)}
}

func text(g *grid) string {
	var out strings.Builder
	cols, rows := g.size()
	for y := range rows {
		for x := 0; x < cols; {
			c, w := g.cell(x, y)
			out.WriteString(c.Content)
			x += w
		}
		out.WriteString("\n")
	}
	return out.String()
}

func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// TestGridAsTmux shows the same bytes to tmux, which is what the Runner has, and to the grid.
func TestGridAsTmux(t *testing.T) {
	for name, in := range map[string]string{
		"wrap":         strings.Repeat("0123456789", 5),
		"scroll":       strings.Repeat("line\r\n", 30) + "end",
		"region":       "\x1b[2;5r\x1b[2;1Ha\r\nb\r\nc\r\nd\r\ne\r\nf",
		"insert line":  "a\r\nb\r\nc\x1b[2;1H\x1b[L\x1b[3;1H\x1b[M",
		"insert cells": "abcdef\x1b[1;3H\x1b[2@XY\x1b[1;8H\x1b[P",
		"erase":        "aaaa\r\nbbbb\r\ncccc\x1b[2;3H\x1b[K\x1b[1J",
		"tabs":         "a\tb\tc\x1b[3g\r\n\x1b[5G\x1bH\r\tx",
		"wide":         "漢字kanji漢\x1b[2;1H\x1b[3Cx",
		"alternate":    "main\x1b[?1049h\x1b[Halt\x1b[?1049l!",
		"cursor":       "\x1b[3;4Hx\x1b7\x1b[1;1Hy\x1b8z\x1b[2Aup\x1b[5Dl",
		"backspace":    "abc\b\bX\rY",
		"reverse":      "a\r\nb\x1b[H\x1bMtop",
		"repeat":       "ab\x1b[5b",
		"colours":      "\x1b[38;2;1;2;3mrgb\x1b[48:5:200mx\x1b[0m plain",
		"synchronised": "\x1b[?2026hpicture\x1b[?2026l",
	} {
		t.Run(name, func(t *testing.T) {
			const cols, rows = 20, 8
			var g grid
			if err := g.take(snapshot(cols, rows, in)); err != nil {
				t.Fatal(err)
			}
			if got, want := trimmed(text(&g)), inTmux(t, cols, rows, in); got != want {
				t.Errorf("the grid has\n%s\ntmux has\n%s", got, want)
			}
		})
	}
}

func inTmux(t *testing.T, cols, rows int, in string) string {
	t.Helper()
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "in"), filepath.Join(dir, "s")
	run := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	if err := writeAll(pipe, in); err != nil {
		t.Fatal(err)
	}
	run("new-session", "-d", "-x", itoa(cols), "-y", itoa(rows), "stty raw; cat "+pipe+"; tmux -S "+socket+" wait-for -S shown; exec sleep 60", ";", "set", "-g", "status", "off")
	defer func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() }()
	run("wait-for", "shown")
	return trimmed(run("capture-pane", "-p"))
}

func TestGridRow(t *testing.T) {
	var g grid
	if err := g.take(snapshot(20, 4, "ab漢c\x1b]8;;https://example.org\x1b\\L\x1b]8;;\x1b\\\x1b]8;;file:///etc\x1b\\F\x1b]8;;\x1b\\")); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	g.row(&out, 0, 0, 3) // the wide one is cut by the edge
	if got := out.String(); got != "ab \x1b[0m" {
		t.Errorf("cut: %q", got)
	}
	out.Reset()
	g.row(&out, 0, 0, 8)
	if got := out.String(); !strings.Contains(got, "漢\x1b[5Gc") || !strings.Contains(got, "https://example.org") || strings.Contains(got, "file:") {
		t.Errorf("whole: %q", got)
	}
}

// tmux captures line drawing as letters, so it is looked at alone.
func TestGridLineDrawing(t *testing.T) {
	var g grid
	if err := g.take(snapshot(20, 2, "\x1b(0lqqk\x1b(B ascii")); err != nil || trimmed(text(&g)) != "┌──┐ ascii" {
		t.Errorf("it has %q, %v", text(&g), err)
	}
}

func TestGridNeedsASnapshot(t *testing.T) {
	var g grid
	if err := g.take(client.Frame{Kind: wire.FrameDelta, Data: []byte("x")}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a delta into nothing: %v", err)
	}
	if err := g.take(snapshot(0, 0, "")); err == nil {
		t.Error("a snapshot without a size is taken")
	}
}

// FuzzGrid: whatever a Sandbox prints, the grid takes it in time, and draws nothing but text, colours and columns.
func FuzzGrid(f *testing.F) {
	f.Add([]byte("\x1b[2J\x1b[Hhello \x1b[38;2;1;2;3mworld\x1b]52;c;eA==\x07\x1b]8;;http://x\x07l"))
	f.Add([]byte("\x1b[?1049h\x1b[5;2r\x1b[99999b\x1b[6n\x1b[c\x1bP$qm\x1b\\\xc2\x9b31m"))
	f.Add([]byte("\x1b[1000000000L\x1b[1000000000S\x1b[1000000000@\x1b[1000000000;1000000000H漢"))
	f.Fuzz(func(t *testing.T, in []byte) {
		began := time.Now()
		var g grid
		if g.take(snapshot(30, 6, string(in))) != nil {
			return // it says so, and a fresh snapshot is asked for
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%q takes %v", in, took)
		}
		var out strings.Builder
		for y := range 7 {
			g.row(&out, y, 0, 31)
		}
		rest := []byte(out.String())
		for len(rest) > 0 {
			b := rest[0]
			switch {
			case b == 0x1b && bytes.HasPrefix(rest, []byte("\x1b[")):
				end := bytes.IndexAny(rest, "mG")
				if end < 0 || strings.Trim(string(rest[2:end]), "0123456789;:") != "" {
					t.Fatalf("%q draws %q", in, rest)
				}
				rest = rest[end+1:]
			case b == 0x1b && bytes.HasPrefix(rest, []byte("\x1b]8;;")):
				end := bytes.IndexByte(rest, '\a')
				if end < 0 {
					t.Fatalf("%q draws %q", in, rest)
				}
				rest = rest[end+1:]
			case b < ' ' || b == 0x7f:
				t.Fatalf("%q draws %q", in, rest)
			default:
				rest = rest[1:]
			}
		}
	})
}

func writeAll(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
