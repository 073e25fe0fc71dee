package store_test

import (
	"testing"

	"claude-hub/hub/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
