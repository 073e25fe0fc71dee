package anthropic

import (
	"context"
	"slices"
	"sync"
)

// gates hold the answers of hang steps until their name is released. A release lets those go that wait now; one that
// comes first lets the next one go.
type gates struct {
	mu      sync.Mutex // guards both
	waiting map[string][]chan struct{}
	early   map[string]bool
}

func newGates() *gates {
	return &gates{waiting: map[string][]chan struct{}{}, early: map[string]bool{}}
}

func (g *gates) wait(ctx context.Context, name string) error {
	g.mu.Lock()
	if g.early[name] {
		delete(g.early, name)
		g.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	g.waiting[name] = append(g.waiting[name], ch)
	g.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		g.leave(name, ch)
		return ctx.Err()
	}
}

func (g *gates) leave(name string, ch chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting[name], ch); i >= 0 {
		g.waiting[name] = slices.Delete(g.waiting[name], i, i+1)
	}
	if len(g.waiting[name]) == 0 {
		delete(g.waiting, name)
	}
}

// release returns how many answers it let go.
func (g *gates) release(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.waiting[name])
	for _, ch := range g.waiting[name] {
		close(ch)
	}
	delete(g.waiting, name)
	if n == 0 && len(g.early) < maxPrompts {
		g.early[name] = true
	}
	return n
}

func (g *gates) names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := []string{}
	for name := range g.waiting {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
