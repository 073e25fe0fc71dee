// Command bench measures the real programs against the budgets, each beside a baseline in the same run: what the same
// thing costs without claude-hub. It prints a table and writes bench/results.json.
//
// A slow figure is a figure, and no failure: it exits with 1 only when something could not be measured. Rounds of ours
// and of the baseline take turns, so that the machine's moods meet both, and the middle of the rounds counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"claude-hub/internal/rig"
)

// bench is what every benchmark needs.
type bench struct {
	bin   string // the folder with the built programs
	quick bool
	log   io.Writer
}

// pick chooses between the full count of rounds and the quick one.
func (b *bench) pick(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

var benchmarks = []struct {
	name    string
	measure func(*bench, context.Context) ([]result, error)
}{
	{"key", (*bench).key},
	{"attach", (*bench).attach},
	{"flood", (*bench).flood},
	{"wake", (*bench).wake},
	{"hub", (*bench).hub},
	{"links", (*bench).links},
	{"recover", (*bench).recovery},
	{"runner", (*bench).runner},
}

// benchLimit bounds one benchmark.
const benchLimit = 8 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == serveStreams {
		return serveBareStreams(ctx)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure these alone, separated by commas: "+strings.Join(names(), ", "))
	bin := flags.String("bin", "bin", "`folder` with the built programs")
	out := flags.String("out", filepath.Join("bench", "results.json"), "`file` for the results")
	quick := flags.Bool("quick", false, "fewer rounds, for a look")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted := names()
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("there is no benchmark %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	path, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	b := &bench{bin: path, quick: *quick, log: os.Stderr}
	results, failed := b.all(ctx, wanted)
	if err := printTable(os.Stdout, results); err != nil {
		return err
	}
	return errors.Join(failed, writeResults(*out, results))
}

func names() []string {
	all := make([]string, len(benchmarks))
	for i, b := range benchmarks {
		all[i] = b.name
	}
	return all
}

// all measures what is wanted; what one benchmark could not measure stops no other.
func (b *bench) all(ctx context.Context, wanted []string) (results []result, failed error) {
	for _, m := range benchmarks {
		if !slices.Contains(wanted, m.name) {
			continue
		}
		fmt.Fprintf(b.log, "bench: %s …\n", m.name)
		at, err := thisMachine(ctx)
		if err != nil {
			return results, errors.Join(failed, err)
		}
		limited, cancel := context.WithTimeout(ctx, benchLimit)
		got, err := m.measure(b, limited)
		cancel()
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s could not be measured: %w", m.name, err))
			fmt.Fprintf(b.log, "bench: %s: %v\n", m.name, err)
		}
		for _, r := range got {
			r.Machine = at
			results = append(results, r)
		}
	}
	return results, failed
}

// rig starts a Hub of its own for a benchmark; done ends and removes it, and adds what went wrong with that.
func (b *bench) rig(ctx context.Context) (r *rig.Rig, done func(*error), err error) {
	r, err = rig.New(ctx, b.bin)
	done = func(failed *error) {
		if r != nil {
			*failed = errors.Join(*failed, r.Close())
		}
	}
	return r, done, err
}

// shellRig has a Runner whose Sessions are plain shells, too.
func (b *bench) shellRig(ctx context.Context) (*rig.Rig, func(*error), error) {
	r, done, err := b.rig(ctx)
	if err == nil {
		err = r.StartShellRunner(ctx)
	}
	return r, done, err
}
