// Package janitor maintains the directory of a host's archives: it begins a new archive at
// midnight or when one is large, compresses finished files, and removes old archives and
// those in excess.
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
// [Compress], [Cull], [Remove] and [Recover] do parts of this for programs that run once a
// day.
//
// Nothing is removed before its replacement was read back, compared and synced to the disk.
// Each step is safe against crashes: leftover files have names that no tool takes for
// archives, and the next run finishes the step. The archive being written is never touched.
//
// Archives are not merged, which would copy all of them: pmlogger_merge does so on request.
package janitor
