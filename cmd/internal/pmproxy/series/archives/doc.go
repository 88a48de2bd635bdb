// Package archives is a store of series that needs no server. It consists of the archives in some
// directories, which it does not modify, and an index file.
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
// The index holds no values, and only data of the archives, except for the expressions that were queried. It is built
// from the metadata of the archives, and rebuilt if it is missing, damaged, of another version or for other
// directories. The store watches the directories, scans them when files change, at most every Interval, adds archives that are new or have grown, and removes
// those that are gone. It also scans every Rescan, for changes by other hosts. An archive that cannot be read is logged and ignored until one of its files changes.
//
// Values are read from the archives on demand, using their temporal indexes, up to the last complete record, also
// from compressed archives. If an archive vanishes or proves to be damaged meanwhile, its values are missing from the
// answer.
//
// # Differences from the C implementation
//
// Identifiers are those of pmseries --load of version 6. A series is known as soon as its metric is in the metadata,
// and an instance as soon as it is in its domain, even before there are values. Values are those of each record: the
// C implementation repeats the last value of instances that no longer exist.
package archives
