// Package pcptime is for programs that read and write times like PCP's tools: intervals, dates, windows of archives
// and time zones, in the grammar of the tools' options and with their messages for mistakes.
//
//	every, err := pcptime.ParseInterval("1 hour 30 min")
//	loc := pcptime.Zone("EST5EDT")
//	window, warn, err := pcptime.ParseWindow(pcptime.Bounds{Start: &start, Align: &align}, first, last, loc)
//	fmt.Println(pcptime.Ctime(window.Start, loc))
//
// [ParseInterval] is pmParseInterval(3), [ParseTime] is what -S, -T and -O take,
// [ParseWindow] is pmParseTimeWindow(3), and [Zone] makes a time zone of the
// value of TZ. [Strftime] and [Ctime] format times as the C library does in the
// C locale.
//
// The package knows neither options nor archives: it takes text and times and
// returns values, or a [*SyntaxError] that points at the mistake.
package pcptime
