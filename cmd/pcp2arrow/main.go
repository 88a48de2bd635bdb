// Pcp2arrow writes metrics to files of Apache Parquet, a column for each metric and instance. It is a program and a
// module of its own, so that the others do not carry what only Parquet needs:
//
//	go -C cmd/pcp2arrow build -o ../../bin/pcp2arrow .
//	bin/pcp2arrow -a ARCHIVE -t 10s -o DIRECTORY disk.dev mem.util
package main

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/tool/export"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal must not be in vain when the first one hangs
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	c := export.Arrow(create)
	return c.Run(ctx, &cli.Env{
		Name: filepath.Base(args[0]), Program: args[0], Args: args[1:], Command: c,
		Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv,
		Commands: []*cli.Command{c},
	})
}
