// Package github is a stand-in for GitHub: a scripted server on a real loopback connection, so that sign-in can be
// tested and shown without an account there. It says what it is in every answer's header (X-Stand-In), on every page
// and in its messages, so that nobody takes it for the real thing, and nobody types a password into it: it has no field
// for one.
//
// It promises:
//   - who a person is follows from the numeric id; a login can be renamed, and handed to somebody else, at any time;
//   - a code is good once, for a while, for one redirect and, where a challenge came, for its verifier alone (S256);
//   - codes, tokens, verifiers and secrets are in no log and no message; of tokens it keeps hashes;
//   - every endpoint can be made to fail in each way of [Failure], for some calls or until it is healed;
//   - public layout ("/user") and Enterprise layout ("/api/v3/user") answer alike, with one sign-in page for both.
//
// It is stricter than GitHub in one point: a redirect has to be exactly one of those registered, and a wrong one gets a
// page that says so and no redirect at all. It is not a model of GitHub's limits, texts or rights beyond sign-in.
//
// # Script
//
// A script is one JSON object:
//
//	{
//	  "app": {"clientID": "Iv-standin", "redirects": ["http://127.0.0.1:8080/signin/github"], "tokenLifeSeconds": 28800},
//	  "people": [{"id": 1001, "login": "ada", "name": "Ada L."}, {"id": 1002, "login": "bob"}],
//	  "orgs": [{"id": 501, "login": "acme", "members": [{"person": 1001}, {"person": 1002, "state": "pending"}],
//	            "teams": [{"slug": "platform", "members": [{"person": 1001}]}]}],
//	  "installations": [{"id": 9001, "account": "acme", "people": [1001]}],
//	  "repos": [{"id": 7001, "name": "acme/app", "readers": [1001]}]
//	}
//
// # Control
//
// Everything below /standin/ steers it. A question with a body is JSON by its Content-Type, which a foreign page cannot
// send here unasked.
//
//	GET  /standin/log      what was asked ([Log])
//	GET  /standin/script   people, organisations and application as they are now
//	POST /standin/fail     a [Failure]; with no kind the endpoint is healed, and endpoint "*" is every endpoint
//	POST /standin/person   {"id":1001,"login":"ada-new","name":"…"} adds or renames
//	POST /standin/member   {"org":"acme","person":1001,"state":"active|pending|"}; an empty state removes
//	POST /standin/team     {"org":"acme","team":"platform","person":1001,"state":…}
//	POST /standin/reader   {"repo":"acme/app","person":1001,"sees":true}
//	POST /standin/revoke   {"person":1001} ends all tokens of a person; {} ends everybody's
//	POST /standin/clock    {"advanceSeconds":3600}
//	POST /standin/app      {"redirects":["http://…"],"tokenLifeSeconds":0,"codeLifeSeconds":600}
package github
