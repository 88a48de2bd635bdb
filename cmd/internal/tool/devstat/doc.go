// Package devstat is what pcp-iostat and pcp-tapestat have in common: tables of the rates of devices, with the same
// options, headings and aggregates.
//
//	r := &devstat.Report{Kind: …}
//	return r.Run(ctx, env)
package devstat
