package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A Compressor replaces files by compressed ones.
type Compressor struct {
	words    []string // the program and its options
	path     string   // of another program; "" for this one
	format   janitor.Format
	internal bool
}

// FindCompressor returns the compressor of a command line. "xz" and "zstd" are part of this
// program, whatever their level: an .xz file has blocks of 10 MiB, and a .zst file is compressed at
// the default level. Any other program must be found in PATH.
func FindCompressor(env *cli.Env, line string) (*Compressor, error) {
	c := &Compressor{words: strings.Fields(line)}
	if len(c.words) == 0 {
		return nil, errors.New("no compression program is named")
	}
	if format, err := janitor.ParseFormat(c.words[0]); err == nil && plainOptions(c.words[1:]) {
		c.format, c.internal = format, true
		return c, nil
	}
	path, err := env.LookPath(c.words[0])
	if err != nil || !cli.Executable(path) {
		return nil, fmt.Errorf("%s: compression program not found", c.words[0])
	}
	c.path = path
	return c, nil
}

// plainOptions reports whether options set only the level, the speed or the block size.
func plainOptions(list []string) bool {
	for _, o := range list {
		switch {
		case o == "--fast" || o == "--best" || o == "--rm" || o == "-q" || o == "--quiet" || strings.HasPrefix(o, "--block-size=") || strings.HasPrefix(o, "--fast="):
		case len(o) > 1 && o[0] == '-' && o[1] != '-' && number(strings.TrimSuffix(o[1:], "e")):
		default:
			return false
		}
	}
	return true
}

func number(s string) bool {
	_, err := strconv.ParseUint(s, 10, 8)
	return err == nil
}

// Name is the name of the program.
func (c *Compressor) Name() string { return c.words[0] }

// Compress replaces a file by a compressed one. Another program writes to out.
func (c *Compressor) Compress(ctx context.Context, path string, out io.Writer) error {
	if c.internal {
		_, err := janitor.Compress(ctx, path, c.format)
		return err
	}
	cmd := exec.CommandContext(ctx, c.path, append(c.words[1:], path)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = callbackEnd
	return cmd.Run()
}

// Measure compresses a file, which it keeps, and returns the size of the result. Another program gets no options.
func (c *Compressor) Measure(ctx context.Context, path string) (int64, error) {
	if c.internal {
		return c.format.Measure(ctx, path)
	}
	cmd := exec.CommandContext(ctx, c.path, "-c", "-q", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, out)
	return n, errors.Join(err, cmd.Wait())
}
