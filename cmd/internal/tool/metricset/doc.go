// Package metricset is the command side that pmrep and the pcp2* programs share, whose C
// counterparts are Python programs on the module pmconfig: their options and settings, the
// configuration that they read, the source, the time window and the time zone, the sampling
// interval, and the words of errors. Package pmrep does the rest.
//
//	var program = &metricset.Program{
//		Paths: metricset.PmrepPaths("pcp2json"), Keys: keys, Ignored: ignored,
//		Defaults: conf.Settings{"header": "1", "globals": "1", "interval": "60", "precision": "3", …},
//		Own: func(r *metricset.Report, opt *cli.Option, arg string) bool { … },
//	}
//
//	func run(ctx context.Context, env *cli.Env) int {
//		r, err := metricset.Start(env, program) // reads the configuration and the options
//		if err == nil {
//			defer r.Close()
//			err = report(ctx, r)
//		}
//		return metricset.Exit(ctx, env, err)
//	}
//
//	func report(ctx context.Context, r *metricset.Report) error {
//		if err := r.Connect(ctx); err != nil { … }   // source, time window
//		if err := r.CheckSettings(); err != nil { … } // numbers; then checks of the program's own
//		if err := r.Resolve(ctx); err != nil { … }    // r.Set, r.Samples, r.Interval
//		if err := r.Prepare(ctx, false); err != nil { … }    // r.Loc, mode of an archive
//		// header; return if r.Check
//		return r.Run(ctx, writer)
//	}
//
// The settings that a program looks at itself are in r.Settings, as r.Settings.Is1("header").
package metricset
