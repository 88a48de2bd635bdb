// Package openmetrics reads the text in which programs show their metrics to Prometheus, in its own format or in
// that of OpenMetrics.
//
//	s := openmetrics.NewScanner(body, openmetrics.Limits{})
//	for s.Next() {
//		line := s.Line()
//		if line[0] == '#' {
//			keyword, name, rest := openmetrics.Comment(line)
//			...
//			continue
//		}
//		series, n, err := openmetrics.ParseSeries(line, false)
//		...
//		value, rest := openmetrics.Field(line[n:])
//		f, ok := openmetrics.ParseFloat(value)
//		...
//	}
//	return s.Err()
//
// A program that reads the same text again and again need not parse it again. [SeriesLen] says how long the name
// and labels at the beginning of a line are; a line that begins with the same bytes as one did before has the same
// name and labels. So a map by these bytes finds what is known of the series, and nothing is allocated.
//
// # What is accepted
//
// [ParseSeries] can be strict or lenient. Strict, names are made of letters, digits, underscores and, in names of metrics,
// colons. Lenient, all is a name that is not white space and cannot be mistaken for what follows, as in the
// agent of PCP that does this in Python. Both accept a comma behind the last label, white space between any two parts, and
// unknown escapes, which stand for themselves. Of two labels with one name lenient parsing keeps the last.
package openmetrics
