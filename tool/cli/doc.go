// Package cli is what the tools share: how a command describes itself, its
// options with PCP's getopt semantics, and the environment it runs in.
//
//	var Command = &cli.Command{
//		Name: "sleep", Link: "pmsleep", Group: "Utilities",
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
// The table of a command's options feeds the parser, the usage message and the
// completion of shells, so that they cannot differ. The usage message has the
// layout of the C tools, and mistakes have their words, as scripts depend on
// both.
//
// What the C tools can do and this package cannot yet (derived metrics, time
// control) is accepted by the parser and then refused with "not supported yet"
// and exit status 1, never ignored. Debug options are the exception: scripts set
// them everywhere, so that any valid one is accepted, and a [Command] lists those
// for which it prints something.
package cli
