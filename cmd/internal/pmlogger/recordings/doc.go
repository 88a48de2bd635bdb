// Package recordings records metrics to archives for the page, as pmchart's recordings: each has a directory with the archive, a view of pmchart and
// a folio, which pmafm and pmchart open.
//
//	GET    /recordings            the recordings, and the limits of new ones
//	POST   /recordings            begins a recording of the metrics in the JSON of the body
//	POST   /recordings/ID/stop    ends it
//	DELETE /recordings/ID         removes one that has ended
//
// Names of files are the server's own.
package recordings
