// Package repair saves the good parts of a damaged archive.
//
//	files, err := archive.FindFiles("20260101")
//	if err != nil {
//		return err
//	}
//	sum, err := repair.Archive(ctx, files, "20260101.saved", repair.Options{
//		Dropped: func(d repair.Drop) { fmt.Println(d) },
//	})
//
// It keeps every record that is whole and consistent with its neighbours, and
// reports everything else.
//
//   - A record of a volume is whole if its two lengths agree, its time is a
//     time, and its contents decode to the last byte. Where a record is not, the
//     next one is looked for byte by byte; there it must hold a metric that the
//     metadata know, or be a mark.
//   - Of the whole records, repair keeps the longest chain that runs forward in
//     time. One time stamp far in the future therefore costs one record, and not
//     those after it. Of two chains of equal length it keeps the chain that the
//     temporal index confirms or that has a regular sampling interval.
//   - Metadata are found in the same way. Of two contradicting descriptors of a
//     metric, repair keeps that which fits the values.
//   - Values without a descriptor, without an instance domain, or of another type
//     than that of their descriptor are dropped; the rest of their record stays.
//   - The label is that of most files. The index is always rebuilt.
//   - Where bytes are lost between two records a mark is written, for counters
//     may have been reset there.
//
// A damaged value, instance number or name that is still valid cannot be
// distinguished from a good one, and stays. Instances without a name occur in
// undamaged archives too, and are kept.
//
// [Run] works on any [io.ReaderAt]; it reads each volume twice and keeps about
// 40 bytes in memory for each record. [Archive] opens the files, of damaged
// compressed ones as much as can be decoded, and puts the result in place once it
// is complete.
package repair
