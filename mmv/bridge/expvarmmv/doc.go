// Package expvarmmv is for programs with variables of package expvar, which it publishes as metrics.
//
//	defer expvarmmv.Export(reg, expvarmmv.Options{}).Stop()
//
// An Int is a 64-bit number, a Float a double and a String a text. A Map of
// numbers is one metric whose instances are its keys; its texts, and those keys whose values
// are maps themselves, are metrics next to it, MAP_KEY, or below it, MAP.KEY, if it has no
// numbers. A Func is read as the JSON encoding of its result: numbers, texts, booleans as 0
// and 1, and maps of those; lists are left out. A variable of another type is read by the
// JSON that it prints. Functions are called once per Options.Interval, not for each request.
//
// The variables cmdline and memstats, which package expvar adds by itself, are
// left out: the agent of processes has the first, and package runtimemmv the second
// at a lower cost.
//
// Package expvar does not distinguish counters from gauges. Options.Counter does;
// other variables are instantaneous values, of which tools show the value and not
// the rate.
package expvarmmv
