package web_test

import (
	"net/http"

	"claude-hub/internal/claudehub"
)

// relation is what a person is to the things that a route is about.
type relation int

const (
	stranger    relation = iota // a member of the Hub
	participant                 // the Session is shared with them; the suggestion is theirs
	creator                     // made all of it; no admin
	adminOf                     // an admin, and nobody to the things
)

// class says for whom the routes of a kind are: by relation, the answer to who is signed in with a browser. 0 is what the
// route answers when it does what it is for.
type class struct {
	name  string
	serve string // public, person, admin or runner
	to    map[relation]int
	// absent tells that the route names a thing, so that one that is not there must look like one that is not yours.
	absent bool
}

const (
	fine = 0
	gone = http.StatusNotFound
	no   = http.StatusForbidden
)

func people(s, p, c, a int) map[relation]int {
	return map[relation]int{stranger: s, participant: p, creator: c, adminOf: a}
}

var (
	public    = class{name: "public", serve: "public"}
	anybody   = class{name: "anyone signed in", serve: "person", to: people(fine, fine, fine, fine)}
	watchers  = class{"watch", "person", people(gone, fine, fine, gone), true}
	drivers   = class{"drive", "person", people(gone, no, fine, gone), true}
	suggests  = class{"suggest", "person", people(gone, fine, http.StatusConflict, gone), true}
	authors   = class{"withdraw", "person", people(gone, fine, no, gone), true}
	owners    = class{"own", "person", people(gone, gone, fine, gone), true}
	revokers  = class{"own or admin", "person", people(gone, gone, fine, fine), true}
	admins    = class{"admin", "admin", people(gone, gone, gone, fine), false}
	eachOwn   = class{name: "a Runner's own", serve: "runner"}
	oneRunner = class{name: "the Session's Runner", serve: "runner", absent: true}
)

// expectation is what the matrix holds one route to. It is written here a second time, and on purpose: a scope or a
// principal that is changed in the table by mistake shows.
type expectation struct {
	class
	scope claudehub.Scope
	ok    int
}

const (
	cookieOnly = claudehub.ScopeNone
	reads      = claudehub.ScopeRead
	drives     = claudehub.ScopeDrive
	builds     = claudehub.ScopeEnvironments
	machines   = claudehub.ScopeRunners
)

var expectations = map[string]expectation{
	"GET /healthz":                  {public, cookieOnly, 200},
	"GET /api/hub":                  {public, cookieOnly, 200},
	"POST /api/sign-in":             {public, cookieOnly, 204},
	"GET /api/auth/github/start":    {public, cookieOnly, 302},
	"GET /api/auth/github/callback": {public, cookieOnly, 302},
	"POST /api/device/code":         {public, cookieOnly, 200},
	"POST /api/device/token":        {public, cookieOnly, 400}, // authorization_pending

	"POST /api/setup":                      {anybody, cookieOnly, 409}, // there is an admin
	"GET /api/device/{user_code}":          {anybody, cookieOnly, 200},
	"POST /api/device/{user_code}/approve": {anybody, cookieOnly, 200},
	"POST /api/device/{user_code}/deny":    {anybody, cookieOnly, 204},

	"GET /api/me":               {anybody, reads, 200},
	"POST /api/sign-out":        {anybody, reads, 204},
	"GET /api/sign-ins":         {anybody, cookieOnly, 200},
	"DELETE /api/sign-ins/{id}": {owners, cookieOnly, 204},
	"GET /api/tokens":           {anybody, reads, 200},
	"POST /api/tokens":          {anybody, cookieOnly, 201},
	"DELETE /api/tokens/{id}":   {owners, drives, 204},

	"GET /api/sessions":                               {anybody, reads, 200},
	"POST /api/sessions":                              {owners, drives, 201}, // on a Runner of one's own
	"GET /api/sessions/{id}":                          {watchers, reads, 200},
	"PATCH /api/sessions/{id}":                        {drivers, drives, 200},
	"DELETE /api/sessions/{id}":                       {drivers, drives, 200},
	"POST /api/sessions/{id}/sleep":                   {drivers, drives, 200},
	"POST /api/sessions/{id}/wake":                    {drivers, drives, 200},
	"POST /api/sessions/{id}/archive":                 {drivers, drives, 200},
	"POST /api/sessions/{id}/unarchive":               {drivers, drives, 200},
	"POST /api/sessions/{id}/retry":                   {drivers, drives, 200},
	"POST /api/sessions/{id}/cancel":                  {drivers, drives, 200},
	"POST /api/sessions/{id}/stop":                    {drivers, drives, 200},
	"POST /api/sessions/{id}/new-conversation":        {drivers, drives, 409}, // none was lost
	"GET /api/sessions/{id}/prompts":                  {watchers, reads, 200},
	"POST /api/sessions/{id}/prompts":                 {drivers, drives, 201},
	"POST /api/sessions/{id}/prompts/{prompt}/cancel": {drivers, drives, 200},
	"GET /api/sessions/{id}/history":                  {watchers, reads, 200},
	"GET /api/sessions/{id}/terminal":                 {watchers, reads, 101},
	"POST /api/sessions/{id}/share":                   {drivers, cookieOnly, 200},
	"DELETE /api/sessions/{id}/share/{person}":        {drivers, cookieOnly, 200},
	"POST /api/sessions/{id}/link":                    {drivers, cookieOnly, 201},
	"DELETE /api/sessions/{id}/link":                  {drivers, cookieOnly, 200},
	"POST /api/join":                                  {anybody, cookieOnly, 200},
	"GET /api/people":                                 {anybody, cookieOnly, 200},
	"GET /api/sessions/{id}/suggestions":              {watchers, reads, 200},
	"POST /api/sessions/{id}/suggestions":             {suggests, drives, 201},
	"POST /api/suggestions/{id}/accept":               {drivers, drives, 200},
	"POST /api/suggestions/{id}/decline":              {drivers, drives, 200},
	"POST /api/suggestions/{id}/withdraw":             {authors, drives, 200},
	"POST /api/sessions/{id}/ports":                   {drivers, drives, 200},
	"DELETE /api/sessions/{id}/ports/{port}":          {drivers, drives, 200},
	"GET /api/environments":                           {anybody, builds, 200},
	"POST /api/environments":                          {anybody, builds, 201},
	"POST /api/environments/seed":                     {anybody, builds, 200},
	"GET /api/seeds":                                  {anybody, builds, 200},
	"GET /api/environments/{id}":                      {owners, builds, 200},
	"PATCH /api/environments/{id}":                    {owners, builds, 200},
	"POST /api/environments/{id}/archive":             {owners, builds, 200},
	"POST /api/environments/{id}/unarchive":           {owners, builds, 200},
	"GET /api/environments/{id}/versions":             {owners, builds, 200},
	"GET /api/environments/{id}/builds":               {owners, builds, 200},
	"POST /api/environments/{id}/builds":              {owners, builds, 201},
	"GET /api/builds/{id}":                            {owners, builds, 200},
	"POST /api/builds/{id}/cancel":                    {owners, builds, 200},
	"POST /api/builds/{id}/look":                      {owners, drives, 409}, // it has not failed
	"GET /api/builds/{id}/log":                        {owners, builds, 200},
	"GET /api/builds/{id}/log.txt":                    {owners, builds, 200},
	"GET /api/environments/{id}/variables":            {owners, builds, 200},
	"PUT /api/environments/{id}/variables/{name}":     {owners, builds, 200},
	"DELETE /api/environments/{id}/variables/{name}":  {owners, builds, 204},
	"GET /api/repo-variables/repos":                   {anybody, builds, 200},
	"GET /api/repo-variables":                         {anybody, builds, 200},
	"PUT /api/repo-variables/{name}":                  {anybody, builds, 200},
	"DELETE /api/repo-variables/{name}":               {owners, builds, 204},
	"GET /api/runners":                                {anybody, machines, 200},
	"PATCH /api/runners/{id}":                         {owners, machines, 200},
	"POST /api/runners/{id}/reclaim":                  {owners, machines, 200},
	"DELETE /api/runners/{id}":                        {revokers, cookieOnly, 204},
	"GET /api/events":                                 {anybody, reads, 200},

	"GET /api/admin/people":                {admins, cookieOnly, 200},
	"POST /api/admin/people/{id}/role":     {admins, cookieOnly, 200},
	"POST /api/admin/people/{id}/sign-out": {admins, cookieOnly, 204},
	"GET /api/admin/runners":               {admins, cookieOnly, 200},
	"GET /api/admin/audit":                 {admins, cookieOnly, 200},
	"GET /api/admin/audit.jsonl":           {admins, cookieOnly, 200},

	"GET /runner/v1/stream":                  {eachOwn, cookieOnly, 200},
	"POST /runner/v1/status":                 {eachOwn, cookieOnly, 200},
	"POST /runner/v1/events":                 {eachOwn, cookieOnly, 200},
	"POST /runner/v1/token":                  {eachOwn, cookieOnly, 200},
	"POST /runner/v1/sessions/{id}/screen":   {oneRunner, cookieOnly, 204},
	"GET /runner/v1/sessions/{id}/variables": {oneRunner, cookieOnly, 200},
	"GET /runner/v1/builds/{id}/variables":   {oneRunner, cookieOnly, 200},
	"POST /runner/v1/builds/{id}/log":        {oneRunner, cookieOnly, 200},
}
