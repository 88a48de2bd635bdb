package loglabel

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestMain makes the test binary the tool itself where it runs itself.
func TestMain(m *testing.M) { twin.Main(m, Command) }
