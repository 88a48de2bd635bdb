// Package importcmd is "pcp import": it makes an archive of data that others
// have recorded.
//
//	pcp import csv temperatures.csv temperatures
//
// A CSV file has a header that names the metrics, and a column with the time.
// A self-explanatory file needs no options; the output of "pmrep -o csv" can be
// imported as it is. A name in the header may have more properties of the
// metric:
//
//	time,room.temperature,disk.read[sda] (KB/s),requests (counter count u64)
//
// "pcp import sar", iostat and mrtg are sar2pcp, iostat2pcp and mrtg2pcp of the C
// implementation, which are in Perl: the archives are the same. "pcp import prometheus"
// reads the text format of Prometheus. "pcp import vllmbench" and guidellm are vllmbench2pcp and
// guidellm2pcp, in Python. These read a file once, and remove the archive again if something is wrong.
//
// A CSV file is read twice: first to check that all of it can be imported, and
// to find the types of values, then to write the archive. So no archive is made
// from a wrong file, and memory does not grow with the file.
package importcmd
