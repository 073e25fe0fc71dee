package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
)

// machine is where the figures are from.
type machine struct {
	CPUs   int    `json:"cpus"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	Load   figure `json:"load"` // the last minute's, at the start of the benchmark
}

func thisMachine(ctx context.Context) (machine, error) {
	info, err := host.InfoWithContext(ctx)
	if err != nil {
		return machine{}, fmt.Errorf("read the machine: %w", err)
	}
	avg, err := load.AvgWithContext(ctx)
	if err != nil {
		return machine{}, fmt.Errorf("read the load: %w", err)
	}
	return machine{
		CPUs: runtime.NumCPU(), OS: strings.TrimSpace(info.OS + " " + info.Platform + " " + info.PlatformVersion), Kernel: info.KernelVersion, Load: figure(avg.Load1),
	}, nil
}

// hop is a part of the way of a Session's bytes, and the processes that it is made of.
type hop struct {
	name string
	pids []int
}

func (h hop) resident() (sum float64, err error) {
	for _, pid := range h.pids {
		mb, err := resident(pid)
		if err != nil {
			return 0, err
		}
		sum += mb
	}
	return sum, nil
}

// watch samples the memory of hops until its stop is called, which returns the highest of each.
func watch(ctx context.Context, hops []hop) (stop func() ([]float64, error)) {
	ctx, cancel := context.WithCancel(ctx)
	peaks := make([]float64, len(hops))
	var failed error
	var done sync.WaitGroup
	done.Go(func() {
		for {
			for i, h := range hops {
				mb, err := h.resident()
				if err != nil && ctx.Err() == nil {
					failed = err
				}
				peaks[i] = max(peaks[i], mb)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return func() ([]float64, error) {
		cancel()
		done.Wait()
		return peaks, failed
	}
}

// pause waits for a time that is part of a measurement: memory after five idle seconds, say.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
