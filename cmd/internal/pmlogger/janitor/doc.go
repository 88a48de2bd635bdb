// Package janitor looks after a directory of archives of one host: it begins a new archive at
// midnight or when one is large, compresses what is finished, and removes what is too old or
// too much.
//
//	j, err := janitor.New(janitor.Config{
//		Dir: dir, Recorder: r, Daily: true,
//		Policy: janitor.Policy{MaxAge: 14 * 24 * time.Hour, MaxBytes: 10 << 30},
//	})
//	if err != nil {
//		return err
//	}
//	go j.Run(ctx)
//	return r.Run(ctx)
//
// [Compress], [Cull], [Remove] and [Recover] do parts of it for programs that are started once
// a day.
//
// Nothing is removed before what replaces it was read back, compared and synced to the disk.
// Each step can be stopped by a crash: what it leaves has names that no tool takes for
// archives, and the next run finishes it. The archive that is written is never touched.
//
// Archives are not merged, which copies all of them: pmlogger_merge does so on request.
package janitor
