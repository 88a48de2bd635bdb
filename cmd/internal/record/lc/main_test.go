package lc_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/record/lc"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A buffer receives both outputs of a tool.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// runIn runs the tool on an input, with additional environment. It returns both outputs
// combined.
func runIn(ctx context.Context, env []string, in io.Reader, args ...string) (out string, status int) {
	var b buffer
	vars := append(oracle.Env(), env...)
	getenv := func(name string) string {
		for i := len(vars) - 1; i >= 0; i-- {
			if value, ok := strings.CutPrefix(vars[i], name+"="); ok {
				return value
			}
		}
		return ""
	}
	status = lc.Command.Run(ctx, &cli.Env{
		Name: "pmlc", Args: args, Stdin: in, Stdout: &b, Stderr: &b, Command: lc.Command, Version: "0", Getenv: getenv,
	})
	return b.String(), status
}

func TestMain(m *testing.M) { leak.Main(m) }
