// Pcp2arrow writes metrics to files of Apache Parquet, a column for each metric and instance. It is a program and a
// module of its own, so that the others do not carry what only Parquet needs:
//
//	go -C cmd/pcp2arrow build -o ../../bin/pcp2arrow .
//	bin/pcp2arrow -a ARCHIVE -t 10s -o DIRECTORY disk.dev mem.util
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/exchange/export"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal must not be in vain when the first one hangs
	c := export.Arrow(create)
	env := &cli.Env{
		Name: filepath.Base(args[0]), Program: args[0], Args: args[1:], Command: c,
		Stdin:  os.Stdin,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv,
		Commands: []*cli.Command{c},
	}
	finish := env.Streams()
	status := c.Run(ctx, env)
	if err := finish(); err != nil && status == 0 {
		status = env.OutputFailed(err)
	}
	return status
}
