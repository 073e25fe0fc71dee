package web_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"claude-hub/hub/web"
)

func TestOpenAPIIsTheSameEachTimeAndHasAllTypes(t *testing.T) {
	first, err := web.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := web.OpenAPI()
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("another document for the same program (%v)", err)
		}
	}
	var doc struct {
		OpenAPI    string
		Components struct{ Schemas map[string]any }
		Paths      map[string]map[string]struct{ Security []map[string][]string }
	}
	if err := json.Unmarshal(first, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI %s", doc.OpenAPI)
	}
	for _, name := range []string{"Session", "Runner", "Prompt", "Person", "TerminalUp", "TerminalDown", "TerminalState",
		"InputReport", "HubInfo", "Problem", "Machine", "Finding", "Link", "Entry", "SignInItem", "Snapshot", "DesiredSession"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Security == nil {
				t.Errorf("%s %s does not say whom it serves", method, path)
			}
		}
	}
}
