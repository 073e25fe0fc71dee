package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// result is one line of the table and of the file. What a budget does not name stays nil.
type result struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Value figure `json:"value"`
	Unit  string `json:"unit"`

	Baseline     *figure `json:"baseline"`
	BaselineWhat string  `json:"baseline_what,omitempty"`
	Ratio        *figure `json:"ratio"`

	Must *figure `json:"must"`
	Aim  *figure `json:"aim"`
	// Met is "aim", "must", "missed", or "" where nothing is asked.
	Met string `json:"met"`

	P50     *figure `json:"p50,omitempty"`
	P99     *figure `json:"p99,omitempty"`
	Samples int     `json:"samples,omitempty"`
	Note    string  `json:"note,omitempty"`
	Machine machine `json:"machine"`
}

// figure is a number that is written with three significant digits: more would only look exact.
type figure float64

func (f figure) String() string {
	v := float64(f)
	if v >= 100 || v <= -100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// MarshalJSON writes the number as it is shown.
func (f figure) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(f.String())) }

// against sets the baseline and the ratio.
func (r result) against(what string, base float64) result {
	b := figure(base)
	r.Baseline, r.BaselineWhat = &b, what
	if base > 0 {
		ratio := r.Value / b
		r.Ratio = &ratio
	}
	return r
}

// budget sets what is asked, the smaller the better; zero where there is only the other.
func (r result) budget(must, aim float64) result {
	m, a := figure(must), figure(aim)
	r.Met = "missed"
	if must > 0 {
		r.Must = &m
		if r.Value <= m {
			r.Met = "must"
		}
	}
	if aim > 0 {
		r.Aim = &a
		if r.Value <= a {
			r.Met = "aim"
		}
	}
	return r
}

// noted adds what a reader must know.
func (r result) noted(format string, args ...any) result {
	r.Note = fmt.Sprintf(format, args...)
	return r
}

// samples are times of one thing, measured again and again.
type samples []time.Duration

// at is a percentile in milliseconds.
func (s samples) at(percent int) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return milliseconds(sorted[min(len(sorted)*percent/100, len(sorted)-1)])
}

func (s samples) median() float64 { return s.at(50) }

// rounds are samples taken round by round. What counts is the middle of the rounds' percentiles: a machine that does
// something else for a second spoils one round, not the figure.
type rounds []samples

func (r rounds) at(percent int) float64 {
	each := make([]float64, len(r))
	for i, s := range r {
		each[i] = s.at(percent)
	}
	slices.Sort(each)
	return each[len(each)/2]
}

// timing is the result with a percentile of the rounds as its value; those of all samples stand beside.
func (r rounds) timing(name, what string, percent int) result {
	all := slices.Concat(r...)
	t := timing(name, what, all, percent)
	t.Value = figure(r.at(percent))
	return t.noted("%d keys in %d rounds; p99 of all keys %s ms", len(all), len(r), figure(all.at(99)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// timing is the result with a percentile of the samples as its value.
func timing(name, what string, s samples, percent int) result {
	p50, p99 := figure(s.at(50)), figure(s.at(99))
	return result{Name: name, What: what, Value: figure(s.at(percent)), Unit: "ms", P50: &p50, P99: &p99, Samples: len(s)}
}

func printTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tvalue\tbaseline\tratio\tmust\taim\tmet\tnote")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.What, r.Value, r.Unit, shown(r.Baseline), shown(r.Ratio), shown(r.Must), shown(r.Aim), r.Met, r.Note)
	}
	return t.Flush()
}

func shown(f *figure) string {
	if f == nil {
		return "–"
	}
	return f.String()
}

func writeResults(path string, results []result) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
