// Package storage opens files on the local disk and, in programs that register a scheme, files of stores on the
// network, with addresses such as "s3://BUCKET/DIR/FILE". The readers of archives use it, so that a library that
// only reads local files has no network code.
package storage
