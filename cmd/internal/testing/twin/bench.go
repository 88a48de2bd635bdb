package twin

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// BenchArchive measures ours with these arguments and the archive that
// BENCH_ARCHIVE names, which is the last one.
func BenchArchive(b *testing.B, c *cli.Command, args ...string) {
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
			Name: c.Link, Args: append(args[:len(args):len(args)], path), Stdout: io.Discard, Stderr: os.Stderr,
			Getenv: func(string) string { return "" }, Command: c,
		}
		if status := c.Run(context.Background(), env); status != 0 {
			b.Fatal("status ", status)
		}
	}
}
