// Package devstat is the common part of pcp-iostat and pcp-tapestat: tables of the rates of
// devices, with the same options, headings and aggregates.
//
//	r := &devstat.Report{Table: func(extended []string) *devstat.Table { … }}
//	return r.Run(ctx, env)
package devstat
