package tmux_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pasteReaderArg {
		pasteReader()
	}
	goleak.VerifyTestMain(m)
}
