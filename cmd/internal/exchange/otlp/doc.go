// Package otlp implements pcp otlp, which sends metrics of collectors and archives to OpenTelemetry by OTLP over HTTP.
//
// A sampler fetches, or reads the records of an archive, and turns values into data points; a request gathers them by resource and
// metric, and has the bytes of an ExportMetricsServiceRequest:
//
//	resource_metrics  1   host.name, host.id, …; with process.pid or container.id if an instance is a process or a container
//	  scope_metrics   2   performance-co-pilot
//	    metrics       2   name, description, unit; a cumulative sum for a counter, otherwise a gauge
//	      data_points 1   attributes of the instance, times, and a value
//
// The encoding is written by hand, as the messages are few: the library of the protocol would add its descriptors to the program.
package otlp
