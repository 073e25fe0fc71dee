// Package anthropic is a stand-in for Anthropic's API: a scripted server on a real loopback connection, so that the
// real Claude Code can be tested and shown without a subscription. It says what it is in every answer's header
// (X-Stand-In), in its model names and in its default text, so that nobody takes it for the real thing.
//
// It promises:
//   - what it answers follows from the request and the script alone, so that a stand-in that was restarted goes on in
//     the middle of a conversation (only an error's "times" is counted in memory);
//   - it never stores or prints the bearer token: it compares hashes and records whether they were equal;
//   - a request that breaks an expectation is refused and recorded as a failure; it is never quietly answered.
//
// It is not a model of Anthropic's limits, prices or safety; it knows what Claude Code asks and no more.
//
// # Script
//
// A script is one JSON object:
//
//	{
//	  "expect": {"model": "opus|sonnet", "effort": "high"},
//	  "rules": [
//	    {"name": "list files", "contains": "list the files", "steps": [
//	      {"say": "Looking."},
//	      {"tool": "Bash", "input": {"command": "ls", "description": "List files"}},
//	      {"say": "Found:\n${result}"}
//	    ]},
//	    {"name": "slow", "matches": "^slow", "steps": [{"say": "line ${n}\n", "repeat": 200, "delayMs": 50}]},
//	    {"name": "busy", "contains": "overload", "steps": [{"error": 529, "times": 2}, {"say": "Here again."}]},
//	    {"name": "hold", "contains": "wait for me", "steps": [{"say": "Waiting. "}, {"hang": "gate"}, {"say": "Done."}]}
//	  ],
//	  "default": [{"say": "stand-in: you said: ${prompt}"}]
//	}
//
// The first rule that matches the newest text of the person answers; "default" answers the rest. A step that follows a
// tool is given once the tool's result has come back. In a text, ${prompt} is the person's text, ${result} the last
// tool's result, ${model} and ${effort} what was asked for, and ${n} the number of the repetition.
package anthropic
