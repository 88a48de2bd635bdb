package names

// Series is the name of the series that describe metrics of PCP, one for each metric of a host. Senders of samples write one sample of
// each in an hour, with the value 1.
const Series = "pcp_series"

// Labels of a series that describes a metric.
const (
	SeriesID     = "series"    // the identifier of the metric as a series of PCP
	SeriesSource = "source"    // the identifier of its source
	SeriesHost   = "hostname"  // the host in the label of the archive
	SeriesMetric = "metric"    // the name in PCP
	SeriesPMID   = "pmid"      // the descriptor of the metric
	SeriesInDom  = "indom"     // absent for a metric without instances
	SeriesType   = "type"      // as in U64
	SeriesSem    = "semantics" // as in counter
	SeriesUnits  = "units"     // absent if there are none
	SeriesLabels = "labels"    // labels of the metric as JSON
	SeriesFlags  = "flags"     // the flags of each of them as two hexadecimal digits
	SeriesWithin = "instances" // labels that identify its instances as JSON
)
