package logconf

import (
	"testing"

	"github.com/go-pcp/pcp/internal/twin"
)

func TestMain(m *testing.M) { twin.Main(m, Command, RepCommand) }
