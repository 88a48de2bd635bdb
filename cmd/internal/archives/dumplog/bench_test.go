package dumplog

import (
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func BenchmarkDump(b *testing.B) { twin.BenchArchive(b, Command, "-z", "-a") }
