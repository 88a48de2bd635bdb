// Package archiveindex has the index objects of archives in object storage: a file for each host and day, which lists the
// archives with records of that day, their files, sizes, checksums, times and labels, so that a reader finds the files of a window with
// one request and without a listing.
//
//	day, _, err := archiveindex.Load(ctx, dir, "20261127") // dir is s3://BUCKET/PREFIX/HOST
//	for _, a := range day.Archives {
//		…
//	}
//
// The index of a day is DIR/index/YYYYMMDD.json, for days of UTC. An archive is in the index of each day from its first to its last
// record. The files of an archive are in DIR, beside the directory of the index.
//
// # Format
//
// The file is JSON. Readers ignore fields that they do not know and refuse versions above 1.
//
//	{"version": 1, "host": "www", "day": "20261127", "archives": [
//	  {"name": "20261127.00.10", "begin": "2026-11-27T00:10:00Z", "end": "2026-11-27T23:59:50Z", "complete": true,
//	   "labels": {"hostname": "www"}, "files": [
//	     {"name": "20261127.00.10.meta.zst", "size": 9331, "sha256": "…"},
//	     {"name": "20261127.00.10.index", "size": 1520, "sha256": "…"},
//	     {"name": "20261127.00.10.0.zst", "size": 771234, "sha256": "…", "begin": "2026-11-27T00:10:00Z", "end": "2026-11-27T23:59:50Z"}]}]}
package archiveindex
