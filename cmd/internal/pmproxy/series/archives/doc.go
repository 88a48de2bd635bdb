// Package archives is the store of series that needs no server: the archives of some directories, which
// stay what they are, and a file with an index to them.
//
//	store, err := archives.Open(ctx, archives.Config{
//		Dirs:  []string{"/var/log/pcp/pmlogger"},
//		Index: "/var/lib/pcp/pmproxy/series.db",
//	})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The index holds no values, and nothing that is not in the archives, but for the expressions that were asked
// for. It is made from the metadata of the archives: one that is missing, damaged, of another version or of other directories
// is made anew. The store looks at the directories at intervals, takes in archives that are new
// or have grown, and forgets those that are gone. An archive that cannot be read is logged and left out until
// one of its files changes.
//
// Values are read from the archives when they are asked for, by way of their temporal indexes, up to
// the last record that is written, also from compressed ones. If an archive vanishes or turns out to be damaged meanwhile, the answer is
// without it.
//
// # Differences from the C implementation
//
// Identifiers are those that pmseries --load of version 6 computes. A series is known as soon as its
// metric is in the metadata, and an instance as soon as it is in its domain, also before there are
// values. Values are those of each record: the C implementation repeats the last value of instances that are no longer there.
package archives
