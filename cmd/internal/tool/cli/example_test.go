package cli_test

import (
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A command is a value with its options and a function.
func ExampleCommand() {
	double := false
	greet := &cli.Command{
		Name: "greet", Synopsis: "[options] name",
		Options: func() []cli.Option {
			return []cli.Option{
				cli.Heading("Options"),
				{Short: 'd', Long: "double", Help: "do it twice"},
				cli.OptHelp,
			}
		},
		Run: func(_ context.Context, env *cli.Env) int {
			o := cli.ParseOptions(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
				double = double || opt.Long == "double"
				return opt.Long == "double"
			}})
			if status, exit := o.Done(); exit {
				return status
			}
			for _, name := range o.Args {
				fmt.Fprintln(env.Stdout, "hello", name)
				if double {
					fmt.Fprintln(env.Stdout, "hello again", name)
				}
			}
			return 0
		},
	}
	env := &cli.Env{
		Name: "greet", Command: greet, Getenv: func(string) string { return "" },
		Args: []string{"world", "--dou"}, Stdout: os.Stdout, Stderr: os.Stdout,
	}
	fmt.Println(greet.Run(context.Background(), env), double)
	env.Args = []string{"-x"}
	fmt.Println(greet.Run(context.Background(), env))
	// Output:
	// hello world
	// hello again world
	// 0 true
	// greet: invalid option -- 'x'
	// Usage: greet [options] name
	//
	// Options:
	//   -d, --double          do it twice
	//   -?, --help            show this usage message and exit
	// 1
}
