package repocheck_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const threatModel = "docs/threat-model.md"

var (
	namedTest  = regexp.MustCompile("`([a-z][a-z0-9/-]*)\\.((?:Test|Fuzz)[A-Za-z0-9]+)`")
	namedStory = regexp.MustCompile("`story ([a-z0-9-]+)`")
	namedPages = regexp.MustCompile("`(frontend/src/[^`]+\\.test\\.tsx?)`") // that it exists is asked of every path
	toCome     = regexp.MustCompile(`to come: ([a-z0-9-]+)`)
)

// proven tells whether a Go test of that name is in a folder.
func proven(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^func ` + name + `\(`).Match(body) {
			return true
		}
	}
	return false
}

func storyExists(name string) bool {
	_, err := os.Stat(filepath.Join(root, "frontend/e2e/stories", name+".test.ts"))
	return err == nil
}

// promised are the rows of the threat model's tables of promises: promise, how, proof.
func promised(t *testing.T, text string) [][3]string {
	t.Helper()
	var rows [][3]string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "| promise | how | proof |":
			in = true
		case !strings.HasPrefix(line, "|"):
			in = false
		case in && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if len(cells) != 3 {
				t.Errorf("%s: a row has %d cells: %s", threatModel, len(cells), line)
				continue
			}
			rows = append(rows, [3]string{strings.TrimSpace(cells[0]), cells[1], cells[2]})
		}
	}
	return rows
}

// TestThreatModelIsHonest: every test, story and file that it names exists, and a promise that nothing proves says so.
func TestThreatModelIsHonest(t *testing.T) {
	body, err := os.ReadFile(filepath.Join(root, threatModel))
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	_, coming, _ := strings.Cut(text, "\n## Stories to come\n")
	rows := promised(t, text)
	if len(rows) < 50 {
		t.Fatalf("%d promises were found: the pattern is wrong", len(rows))
	}
	for _, row := range rows {
		promise, how, proof := row[0], row[1], row[2]
		tests := namedTest.FindAllStringSubmatch(proof, -1)
		stories := namedStory.FindAllStringSubmatch(proof, -1)
		if none := strings.Contains(proof, "no test yet"); !none && len(tests)+len(stories) == 0 && !namedPages.MatchString(proof) {
			t.Errorf("%q names no proof, and does not say that there is none", promise)
		}
		for _, m := range tests {
			if !proven(t, m[1], m[2]) {
				t.Errorf("%q: %s has no test %s", promise, m[1], m[2])
			}
		}
		for _, m := range stories {
			if !storyExists(m[1]) {
				t.Errorf("%q: there is no story %s", promise, m[1])
			}
		}
		for _, m := range toCome.FindAllStringSubmatch(proof, -1) {
			if !strings.Contains(coming, m[1]) {
				t.Errorf("%q: the story %s is to come, and is not in the list of those", promise, m[1])
			}
		}
		if !named.MatchString(how) {
			t.Errorf("%q does not say in which file it is done", promise)
		}
	}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		path := m[1]
		if namedTest.MatchString("`"+path+"`") || strings.Contains(path, "NAME") {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("%s names %s, which does not exist", threatModel, path)
		}
	}
}
