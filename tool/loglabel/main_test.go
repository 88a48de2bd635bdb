package loglabel

import (
	"bufio"
	"context"
	"os"
	"testing"

	"github.com/go-pcp/pcp/tool/cli"
)

// TestMain makes the test binary the tool itself if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("BE_TOOL") == "" {
		os.Exit(m.Run())
	}
	out := bufio.NewWriter(os.Stdout)
	status := Command.Run(context.Background(), &cli.Env{
		Name: "pmloglabel", Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv, Version: "6.0.3", Command: Command,
	})
	if out.Flush() != nil && status == 0 {
		status = 1
	}
	os.Exit(status)
}
