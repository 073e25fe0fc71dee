package web_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"claude-hub/hub/web"
	"claude-hub/internal/claudehub"
)

// matrix is what TestAuthz found, to be read by people.
type matrix struct {
	rows   []principal
	routes []web.RouteInfo
	got    map[string]int
}

func newMatrix(rows []principal, routes []web.RouteInfo) *matrix {
	return &matrix{rows, routes, map[string]int{}}
}

func key(rt web.RouteInfo, p principal) string { return rt.Method + " " + rt.Path + " " + p.name }

func (m *matrix) set(rt web.RouteInfo, p principal, status int) { m.got[key(rt, p)] = status }

// String has a line for each route, and in it the answers to the principals in the order of the list before.
func (m *matrix) String() string {
	var b strings.Builder
	for i, p := range m.rows {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, p.name)
	}
	for _, rt := range m.routes {
		x := expectations[rt.Method+" "+rt.Path]
		scope := string(x.scope)
		if scope == "" {
			scope = "–"
		}
		fmt.Fprintf(&b, "\n%-6s %s\n       for: %s; an API token needs: %s\n      ", rt.Method, rt.Path, x.name, scope)
		// Neighbours with the same answer are one.
		for i := 0; i < len(m.rows); {
			j := i
			for j+1 < len(m.rows) && m.got[key(rt, m.rows[j+1])] == m.got[key(rt, m.rows[i])] {
				j++
			}
			span := fmt.Sprint(i + 1)
			if j > i {
				span = fmt.Sprintf("%d–%d", i+1, j+1)
			}
			fmt.Fprintf(&b, " %s: %d ", span, m.got[key(rt, m.rows[i])])
			i = j + 1
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d routes × %d principals = %d answers, %d of them looked at\n", len(m.routes), len(m.rows), len(m.routes)*len(m.rows), len(m.got))
	return b.String()
}

// view is all that the requests of the matrix could change, without what only says when something was used.
func (e *estate) view() map[string]string {
	e.t.Helper()
	ctx, out := e.t.Context(), map[string]string{}
	put := func(name string, v any, err error) {
		e.t.Helper()
		e.must(err)
		b, err := json.Marshal(v)
		e.must(err)
		out[name] = string(b)
	}
	admin := e.who[adminOf].Person
	people, err := e.Fleet.People(ctx, admin)
	for i := range people {
		people[i].Seen = time.Time{}
	}
	slices.SortFunc(people, func(a, b claudehub.Person) int { return strings.Compare(string(a.ID), string(b.ID)) })
	put("people", people, err)
	for r, b := range e.who {
		p, name := b.Person.ID, fmt.Sprint(r)
		sessions, err := e.Fleet.Sessions(ctx, p, true)
		put("sessions "+name, sessions, err)
		tokens, err := e.Fleet.APITokens(ctx, p)
		for i := range tokens {
			tokens[i].LastUsed, tokens[i].Address = time.Time{}, ""
		}
		put("tokens "+name, tokens, err)
		runners, err := e.Fleet.Runners(ctx, p)
		for i := range runners {
			runners[i].LastUsed, runners[i].Address, runners[i].Link = time.Time{}, "", claudehub.Link{}
		}
		put("runners "+name, runners, err)
		ins, err := e.Fleet.SignIns(ctx, p)
		ids := []string{}
		for _, in := range ins {
			ids = append(ids, in.ID)
		}
		slices.Sort(ids)
		put("sign-ins "+name, ids, err)
		environments, err := e.Fleet.Environments(ctx, p, true)
		put("environments "+name, environments, err)
		repos, err := e.Fleet.Repos(ctx, p)
		put("variables "+name, repos, err)
	}
	me, th := e.who[creator].Person.ID, e.everyones
	prompts, err := e.Fleet.Prompts(ctx, me, th.session)
	put("prompts", prompts, err)
	suggestions, err := e.Fleet.Suggestions(ctx, me, th.session)
	put("suggestions", suggestions, err)
	builds, err := e.Fleet.Builds(ctx, me, th.environment)
	put("builds", builds, err)
	variables, err := e.Fleet.EnvironmentVariables(ctx, me, th.environment)
	put("environment's variables", variables, err)
	return out
}
