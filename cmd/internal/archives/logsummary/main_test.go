package logsummary

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }
