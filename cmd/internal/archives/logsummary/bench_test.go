package logsummary

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func BenchmarkSummary(b *testing.B) { twin.BenchArchive(b, Command, "-z") }
