// Package archive is for programs that read or write the archives of pmlogger(1) record by record: versions 2 and 3,
// any number of volumes, compressed ones, and those that are still growing.
//
//	a, err := archive.Open("/var/log/pcp/pmlogger/host/20260101")
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//	for res, err := range a.Records(a.Label().Start, archive.Forward) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(res.Time.Time(), len(res.Sets))
//	}
//
// An archive is a set of files that share a base name: volumes with the values
// (base.0, base.1, ...), base.meta with descriptors, instance domains, help
// text and labels, and base.index with times and their offsets in the other two.
// The index may be missing, and so may the first volumes.
//
// Metadata are kept in memory, values are not: a [Reader] decodes one record
// at a time into memory that it reuses.
//
// Files may end in .xz, .zst, .gz, .bz2, .bz, .lzma, .Z or .z. An .xz file of
// several blocks, each no larger than 32 MiB, as pmlogger_daily(1) makes them,
// is read block by block as needed, and ahead if it is read in order. A damaged
// block is detected at its end at the latest, after its data have been used. Any
// other compressed file is expanded as a whole: to memory if it is small,
// otherwise to a temporary file without a name, which ends with the process. If
// that is implausibly much for the size of the file, the error is syscall.EFBIG.
//
// A [Writer] makes an archive of values or of records copied from another. A
// [Copier] copies records, completely or in part, also from one version to the
// other. For a program's own data, package importer is simpler.
//
// Bytes of an archive are never trusted: for damaged bytes, the package returns
// an error that wraps a code such as [pcp.ErrLogRec] and names the file and the
// offset.
package archive
