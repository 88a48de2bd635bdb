// Package sar has the reports of pcp-atopsar: their heads, and their lines for a sample.
//
//	p := &sar.Printer{Out: w, Limits: figure.DefaultLimits}
//	for i := range sar.Reports {
//		n := sar.Reports[i].Line(p, &sar.Input{System: d.System, Seconds: 10})
//	}
package sar
