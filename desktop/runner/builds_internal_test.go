package runner

import (
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestBuildThatTheHubTookBack: it is not begun, until it is asked for again.
func TestBuildThatTheHubTookBack(t *testing.T) {
	state, err := OpenState(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	b := newBuilds()
	b.state, b.changed = state, func() {}
	asked := []wire.DesiredBuild{{ID: claudehub.NewBuildID(), Recipe: claudehub.DefaultRecipe()}}
	b.want(asked)
	b.gone(asked[0].ID)
	if due := b.due(t.Context()); len(due) != 0 {
		t.Errorf("begun: %+v", due)
	}
	b.want(asked)
	if due := b.due(t.Context()); len(due) != 1 {
		t.Errorf("not begun: %+v", due)
	}
}
