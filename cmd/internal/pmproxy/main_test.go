package pmproxy

import (
	"testing"

	"github.com/go-pcp/pcp/internal/testing/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
