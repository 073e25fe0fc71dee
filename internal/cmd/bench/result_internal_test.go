package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPercentiles(t *testing.T) {
	var s samples
	for i := 200; i > 0; i-- {
		s = append(s, time.Duration(i)*time.Millisecond)
	}
	if got := s.at(50); got != 101 {
		t.Errorf("p50 is %v", got)
	}
	if got := s.at(99); got != 199 {
		t.Errorf("p99 is %v", got)
	}
	if got := (samples{}).at(99); got != 0 {
		t.Errorf("p99 of nothing is %v", got)
	}
}

func TestOneSpoiledRoundDoesNotCount(t *testing.T) {
	good, spoiled := samples{1e6, 2e6, 3e6}, samples{1e9, 2e9, 3e9}
	if got := (rounds{good, spoiled, good}).at(50); got != 2 {
		t.Errorf("p50 is %v", got)
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		value, must, aim float64
		want             string
	}{{10, 40, 20, "aim"}, {30, 40, 20, "must"}, {41, 40, 20, "missed"}, {30, 40, 0, "must"}, {30, 0, 20, "missed"}, {20, 0, 20, "aim"}} {
		if got := (result{Value: figure(c.value)}).budget(c.must, c.aim).Met; got != c.want {
			t.Errorf("%v of must %v, aim %v: %q, want %q", c.value, c.must, c.aim, got, c.want)
		}
	}
}

func TestResultsAreNumbersInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "results.json")
	r := result{Name: "n", Value: 1234.5, Unit: "ms", Machine: machine{CPUs: 2}}.against("by hand", 0.0123456).budget(2000, 0)
	if err := writeResults(path, []result{r}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got[0]["value"] != 1234.0 && got[0]["value"] != 1235.0 || got[0]["baseline"] != 0.0123 || got[0]["aim"] != nil || got[0]["met"] != "must" {
		t.Errorf("the file has %s", b)
	}
}

func TestUnknownNameIsRefused(t *testing.T) {
	err := run(t.Context(), []string{"--only", "key,nothing", "--out", filepath.Join(t.TempDir(), "r.json")})
	if err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestMissingProgramsFail(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.json")
	if err := run(t.Context(), []string{"--only", "runner", "--bin", t.TempDir(), "--out", out}); err == nil {
		t.Error("it says that it measured without programs")
	}
}
