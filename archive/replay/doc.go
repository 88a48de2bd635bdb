// Package replay is for programs that read values over time from archives, one or hundreds as if they were one: the
// records in either direction, or the values at any time, interpolated from those before and after it.
//
//	set, err := replay.Open("/var/log/pcp/pmlogger/host", replay.Options{})
//	if err != nil {
//		return err
//	}
//	defer set.Close()
//	c := set.NewCursor()
//	c.SetMode(replay.Interp, &start, 10*time.Second)
//	var res pcp.Result
//	for c.Fetch(ctx, ids, nil, &res) == nil {
//		report(&res)
//	}
//
// Programs that also talk to collectors use package pmapi, whose archive contexts
// are cursors with names and help texts.
//
// # Marks
//
// A record without values is a mark: the logger was stopped there, and values
// before and after it are unrelated. Between two archives of a set there is
// always one, a millisecond behind the end of the earlier one, or read backwards
// a millisecond before the start of the later one.
//
// # Interpolation
//
// The value of a metric at a time is computed from its bounds, the last value not
// after and the first value not before it. A value at exactly that time is used
// directly.
//
//   - A counter is interpolated between its bounds, and rounded if it is an integer.
//   - An instantaneous or discrete value, and a string, aggregate or event, is that
//     of the earlier bound. See [Options] for the other way of doing it.
//
// If a bound is missing, or a mark is in its place, there is no value; a discrete
// metric needs no later bound. The first fetch behind a mark has no values of
// counters that had some in the fetch before, so that callers do not compute a
// difference across the mark.
//
// Values, and their order in a result, are the same as in the C library, version 6,
// except for its faults:
//
//   - Forwards it misses the record of just the time that an entry of the temporal
//     index has, and in either direction it believes an index that is wrong.
//   - In a set, a search for a bound that gets into another archive makes it
//     lose records, and turning round at a mark between archives the mark.
//   - A signed counter of 32 bits that wraps lacks its prior value.
//   - PCP_IGNORE_MARK_RECORDS with a time compares records other than those
//     around the mark if it reaches the mark from behind.
package replay
