// Package openmetrics is for programs that read the text in which others export metrics to Prometheus, in its own
// format or in that of OpenMetrics.
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
// A program that reads the same text again and again need not parse it again. [SeriesLen] returns the length of
// the name and labels at the beginning of a line; a line that begins with the same bytes as an earlier line has
// the same name and labels. So a map with these bytes as keys finds a known series, and nothing is allocated.
//
// # Accepted input
//
// [ParseSeries] can be strict or lenient. Strict, names are made of letters, digits, underscores and, in names of metrics,
// colons. Lenient, a name is any text without white space that cannot be mistaken for the part after it, as in the agent
// of PCP in Python. Both accept a comma behind the last label, white space between any two parts, and unknown escapes,
// which are kept as they are. Of two labels with one name lenient parsing keeps the last.
package openmetrics
