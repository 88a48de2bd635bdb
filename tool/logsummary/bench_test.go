package logsummary

import (
	"testing"

	"github.com/go-pcp/pcp/internal/twin"
)

func BenchmarkSummary(b *testing.B) { twin.BenchArchive(b, Command, "-z") }
