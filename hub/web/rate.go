package web

import (
	chain "container/list"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is how much of something one key may have: Count at once, and as many again over Per, evenly.
type Rate struct {
	Count int
	Per   time.Duration
}

func (r Rate) every() rate.Limit { return rate.Limit(float64(r.Count) / r.Per.Seconds()) }

// rates counts by key. It knows the keys that were used last, up to a bound: a key that was forgotten begins anew.
type rates struct {
	name string
	rate Rate
	most int

	mu    sync.Mutex
	keys  map[string]*chain.Element
	order *chain.List // of *counted, the last used first
}

type counted struct {
	key  string
	left *rate.Limiter
	held int // tries that are going on
}

func newRates(name string, r Rate, most int) *rates {
	return &rates{name: name, rate: r, most: most, keys: map[string]*chain.Element{}, order: chain.New()}
}

func (r *rates) ofLocked(key string) *counted {
	if e, ok := r.keys[key]; ok {
		r.order.MoveToFront(e)
		return e.Value.(*counted)
	}
	if r.order.Len() >= r.most {
		old := r.order.Back()
		delete(r.keys, r.order.Remove(old).(*counted).key)
	}
	c := &counted{key: key, left: rate.NewLimiter(r.rate.every(), r.rate.Count)}
	r.keys[key] = r.order.PushFront(c)
	return c
}

// take counts one, or refuses.
func (r *rates) take(key string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.ofLocked(key)
	if c.left.TokensAt(now)-float64(c.held) < 1 {
		return r.refuse(c, now, 1)
	}
	c.left.AllowN(now, 1)
	return nil
}

// try is for what counts only when it fails, as a wrong code does. While it goes on it counts, so that many at once are
// no way around; end says whether it failed.
func (r *rates) try(key string, now time.Time) (end func(failed bool), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.ofLocked(key)
	if c.left.TokensAt(now)-float64(c.held) < 1 {
		return nil, r.refuse(c, now, 1)
	}
	c.held++
	return func(failed bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.held--
		if failed {
			c.left.AllowN(now, 1)
		}
	}, nil
}

// debt refuses who has used more than there was; add counts what was used, however much it is.
func (r *rates) debt(key string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.ofLocked(key); c.left.TokensAt(now) < 0 {
		return r.refuse(c, now, 0)
	}
	return nil
}

func (r *rates) add(key string, n int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.ofLocked(key)
	for n > 0 { // one reservation holds a bucket at the most
		part := min(n, r.rate.Count)
		c.left.ReserveN(now, part)
		n -= part
	}
}

func (r *rates) refuse(c *counted, now time.Time, need float64) error {
	left := c.left.TokensAt(now)
	wait := time.Duration((need - left) / float64(r.rate.every()) * float64(time.Second))
	return &limited{name: r.name, rate: r.rate, left: max(0, int(math.Floor(left))), wait: max(wait, 0)}
}

// slots count what is open at a time.
type slots struct {
	name string
	most int

	mu   sync.Mutex
	open map[string]int
}

func newSlots(name string, most int) *slots {
	return &slots{name: name, most: most, open: map[string]int{}}
}

// enter takes a slot of the key until leave.
func (s *slots) enter(key string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] >= s.most {
		return nil, &limited{name: s.name, rate: Rate{Count: s.most}, wait: slotWait}
	}
	s.open[key]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[key]--; s.open[key] == 0 {
			delete(s.open, key)
		}
	}, nil
}

// slotWait is when it makes sense to try again: nobody knows when one of the open ones closes.
const slotWait = 10 * time.Second
