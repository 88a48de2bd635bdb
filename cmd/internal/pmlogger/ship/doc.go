// Package ship copies archives to object storage, or to a directory that several machines share, as they are finished.
//
//	s, err := ship.New(ship.Config{Dir: dir})
//	if err != nil {
//		return err
//	}
//	s.Set([]ship.Host{{Name: "www", Path: "/var/log/pcp/pmlogger/www"}})
//	return s.Run(ctx)
//
// Archives of a host are stored as HOST/NAME.meta and so on, compressed as they are, and listed in the index of their days
// ([archiveindex]). An index lists only files that are stored and verified, so that it is also the state of this package: after
// a restart, what the index lists is not sent again. While an archive grows, its finished volumes are stored with a copy of its
// metadata; the rest follows when it has ended.
//
// Nothing local is removed here. [Shipper.Shipped] and [Shipper.Ready] are for the janitor, which removes archives by its policy, and stored ones
// when the file system is full.
//
// The life cycle ([Lifecycle]) makes archives with longer intervals, rollup/1min/HOST and rollup/1h/HOST, and removes archives
// from the store when they are old. Each step can be interrupted: it is found and completed in the next run.
package ship
