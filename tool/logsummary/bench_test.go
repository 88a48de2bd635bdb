package logsummary

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/go-pcp/pcp/tool/cli"
)

// BenchmarkSummary summarises the archive that BENCH_ARCHIVE names.
func BenchmarkSummary(b *testing.B) {
	path := os.Getenv("BENCH_ARCHIVE")
	if path == "" {
		b.Skip("BENCH_ARCHIVE names no archive")
	}
	st, err := os.Stat(path + ".0")
	if err != nil {
		b.Skip(err)
	}
	b.SetBytes(st.Size())
	b.ReportAllocs()
	for b.Loop() {
		env := &cli.Env{
			Name: "pmlogsummary", Args: []string{"-z", path}, Stdout: io.Discard, Stderr: os.Stderr,
			Getenv: func(string) string { return "" }, Command: Command,
		}
		if status := Command.Run(context.Background(), env); status != 0 {
			b.Fatal("status ", status)
		}
	}
}
