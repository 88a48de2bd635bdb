// Package names maps the metrics of PCP to those of Prometheus: names, labels, types, units, help texts and histograms.
//
//	names.Metric("disk.dev.read")            // disk_dev_read
//	names.Type(desc)                         // counter
//	names.Merge(sets, own, inst, "sda", ...) // hostname="www", instname="sda", instid="0"
//
// The pages of /metrics, the exporters and the queries of PromQL use it, so that a series has the same name wherever it
// is read.
package names
