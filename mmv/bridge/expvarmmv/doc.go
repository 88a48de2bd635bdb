// Package expvarmmv publishes the variables of package expvar.
//
//	defer expvarmmv.Export(reg, expvarmmv.Options{}).Stop()
//
// An Int is a 64-bit number, a Float a double and a String a text. A Map of
// numbers is one metric whose instances are its keys; its texts, and those keys whose values
// are maps themselves, are metrics beside it, MAP_KEY, or below it, MAP.KEY, if it has no
// numbers. A Func is what encoding/json
// would make of what it returns: numbers, texts, truth values as 0 and 1, and
// maps of those; lists are left out. A variable of another type is taken by the
// JSON that it prints. Functions are called once per Options.Interval, not when
// somebody asks.
//
// The variables cmdline and memstats, which package expvar adds by itself, are
// left out: the agent of processes has the one, and package runtimemmv the other at
// a lower cost.
//
// Package expvar does not tell what only goes up from what goes down as well.
// Options.Counter does; what it does not name is taken for an instantaneous value,
// of which tools show the value and not the rate.
package expvarmmv
