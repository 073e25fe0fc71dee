package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// reportDevcontainer tells the Hub what the workspace says of its development container, once per content: it can seed an
// Environment. That it cannot be read is nobody's failure.
func (s *session) reportDevcontainer(ctx context.Context) {
	found, err := readDevcontainer(s.volume("workspace"))
	if err != nil || found == nil {
		if err != nil {
			s.log.Info("devcontainer not read", "error", err)
		}
		return
	}
	text, err := json.Marshal(found)
	if err != nil {
		s.log.Error("devcontainer not told", "error", err)
		return
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:16])
	if s.facts().Devcontainer == name {
		return
	}
	s.post(ctx, wire.Event{ID: claudehub.EventIDOf(string(s.id) + " devcontainer " + name), Kind: wire.ReportDevcontainer, At: now(), Text: string(text)})
	if err := s.learn(ctx, func(l *Local) { l.Devcontainer = name }); err != nil {
		s.log.Error("not noted", "error", err)
	}
}

// maxConfigs bounds how many folders in .devcontainer are looked into, and maxNamed how many files one may name.
const (
	maxConfigs = 50
	maxNamed   = 40
)

// readDevcontainer reads a repository's devcontainer.json and the files that it names. The repository is a stranger's:
// nothing outside it is opened, no link is followed, nothing that is no plain file is read. It returns nil for none.
func readDevcontainer(workspace string) (*wire.Devcontainer, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range devcontainerPlaces(root) {
		text, err := readPlain(root, name)
		if err != nil {
			continue // not there, or not what we read
		}
		d := &wire.Devcontainer{Path: name, JSON: text, Files: map[string]string{}}
		left := wire.MaxDevcontainer - len(text)
		for _, file := range namedFiles(text) {
			text, err := readPlain(root, path.Join(path.Dir(name), file))
			if err != nil || len(text) > left {
				continue
			}
			left -= len(text)
			d.Files[file] = text
		}
		return d, nil
	}
	return nil, nil
}

// devcontainerPlaces are where the file may be, in the order of its specification.
func devcontainerPlaces(root *os.Root) []string {
	places := []string{".devcontainer/devcontainer.json", ".devcontainer.json"}
	if info, err := root.Lstat(".devcontainer"); err != nil || !info.IsDir() {
		return places[1:]
	}
	dir, err := root.Open(".devcontainer")
	if err != nil {
		return places
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxConfigs) // what could be read counts
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if e.IsDir() {
			places = append(places, path.Join(".devcontainer", e.Name(), "devcontainer.json"))
		}
	}
	return places
}

var errNotPlain = errors.New("not a plain text file of usual size")

// readPlain reads a small text file in which no part of the path is a link.
func readPlain(root *os.Root, name string) (string, error) {
	name = path.Clean(name)
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return "", errors.Join(errNotPlain, err)
		}
	}
	// Without waiting: a named pipe would wait for ever.
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(errNotPlain, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, wire.MaxDevcontainerFile+1))
	if err != nil {
		return "", err
	}
	if len(b) > wire.MaxDevcontainerFile || !utf8.Valid(b) || slices.Contains(b, 0) {
		return "", errNotPlain
	}
	return string(b), nil
}

// namedFiles are the files beside a devcontainer.json that it names: a string that begins with "./" is a file, or a local
// feature's folder.
func namedFiles(text string) []string {
	var files []string
	for _, s := range jsonStrings(text) {
		rest, ok := strings.CutPrefix(s, "./")
		if !ok || len(files) >= maxNamed {
			continue
		}
		clean := path.Clean(rest)
		if clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/") {
			continue
		}
		for _, f := range []string{clean, path.Join(clean, "install.sh"), path.Join(clean, "devcontainer-feature.json")} {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files
}

// jsonStrings are the strings of a JSON text that may have comments, as these have. It needs no whole parser: what is
// taken for a name by mistake is a file that is not there.
func jsonStrings(text string) []string {
	var found []string
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return found
			}
			i += n
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return found
			}
			i += n + 3
		case text[i] == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return found
			}
			var s string
			if json.Unmarshal([]byte(text[i:end+1]), &s) == nil {
				found = append(found, s)
			}
			i = end
		}
	}
	return found
}
