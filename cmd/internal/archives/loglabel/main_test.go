package loglabel

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// TestMain makes the test binary act as the tool when a test runs it.
func TestMain(m *testing.M) { twin.Main(m, Command) }
