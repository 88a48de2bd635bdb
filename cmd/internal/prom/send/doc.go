// Package send sends archives to databases of the Prometheus family by remote write.
//
// A reader turns the records of an archive into windows: the samples of all series in a span of time, at most 30 for each
// series. A window is sent in one request, or in several if it is large, and each request contains a sample of a
// marker series, so that the database has either both or neither:
//
//	pcp_sent{hostname,pid,recorder="push",started}       all samples up to this time are sent
//	pcp_sent_part{hostname,part,pid,recorder,started}    of the window that ends at this time, this request is sent
//
// Both values are seconds since 1970, at the time of the end of the window. hostname, pid and started are those of the archive's
// label. A push asks for the newest markers first, and again when it is not clear whether a request arrived. Windows and
// requests depend only on the archive and on the time where they begin, so a push that was interrupted within a window
// makes the same requests again, without those that were sent.
//
// A recorder that does not find a marker which was accepted long ago sends a sample of another series, pcp_sent_probe. If that becomes visible and
// the marker does not, the database has lost samples, and they are sent again. If the marker becomes visible, the database was slow.
//
// A description, pcp_series, gives readers what the names and labels of Prometheus do not have. It has a sample at the first values of a
// metric in an archive, and in each hour.
package send
