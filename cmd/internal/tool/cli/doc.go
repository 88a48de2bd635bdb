// Package cli holds what the tools share: the description of a command, its
// options with PCP's getopt semantics, and the environment it runs in.
//
//	var Command = &cli.Command{
//		Name: "sleep", Link: "pmsleep", Group: cli.Scripts,
//		Summary:  "wait for an interval",
//		Synopsis: "interval",
//		Options:  []cli.Option{cli.OptVersion, cli.OptHelp},
//		Run: func(ctx context.Context, env *cli.Env) int {
//			o := cli.ParseOptions(env, cli.ParseConfig{})
//			if status, exit := o.Done(); exit {
//				return status
//			}
//			...
//		},
//	}
//
// The parser, the usage message and the completion of shells are all made from
// the table of a command's options, so they cannot differ. The usage message has
// the layout of the C tools, and error messages have their words, as scripts
// depend on both.
//
// Debug options are accepted wherever they are valid, as scripts set them
// everywhere; a [Command] lists those for which it prints something.
package cli
