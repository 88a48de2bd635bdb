package ie

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

// The command is called by the name of the real one here.
func TestMain(m *testing.M) {
	c := *Command
	c.Link = "pmie"
	twin.Main(m, &c)
}
