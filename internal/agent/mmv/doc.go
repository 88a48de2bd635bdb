// Package mmv is the agent for memory-mapped values: it serves the metrics
// that programs of this machine publish in files, as package
// github.com/go-pcp/pcp/mmv of this module writes them.
//
//	a, err := mmv.New(mmv.Config{Dirs: []string{"/var/lib/pcp/tmp/mmv"}})
//	if err != nil {
//		return err
//	}
//	defer a.Close()
//
// The metrics of the file acme are mmv.acme.NAME. New, changed and vanished
// files are noticed with the next request. A file that is just being written
// keeps the definitions it had until it settles.
//
// Names, PMIDs, instance domains, labels and values are those that pmdammv of
// the C implementation serves for the same files, including oddities that a
// client could see. The differences:
//
//   - In a file with MMV_FLAG_SENTINEL any floating-point NaN means no value, not
//     only the NaN with all bits set.
//   - The help texts of instance domains are served.
//   - Where files of one cluster define the same item differently the first
//     file's descriptor counts, as its values and help do. With the C agent
//     that depends on the number of metrics.
//   - A file that is not used is logged with the reason, once.
//
// Files are read with pread(2), so that truncating a file during a read loses its
// values and does not crash the process.
package mmv
