package chrony

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/service"
)

// metrics returns the table. Keys are a report and the place of a field in its lines, from 0.
func metrics(sources *service.InDom) []service.Metric {
	const discrete, instant = pcp.SemDiscrete, pcp.SemInstant
	count, seconds := pcp.Units{DimCount: 1}, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	return []service.Metric{
		{Name: "chrony.tracking.ref_id", Cluster: 0, Item: 0, Type: pcp.TypeU32, Sem: discrete, Key: "tracking.0", Help: "Number of the reference, as of NTP"},
		{Name: "chrony.tracking.ref_id_ip", Cluster: 0, Item: 1, Type: pcp.TypeString, Sem: discrete, Key: "tracking.1", Help: "Address or name of the reference"},
		{Name: "chrony.tracking.stratum", Cluster: 0, Item: 2, Type: pcp.TypeU32, Sem: discrete, Key: "tracking.2", Help: "Distance from a computer with a reference clock, in hops"},
		{Name: "chrony.tracking.ref_time", Cluster: 0, Item: 3, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.3", Help: "Time of the last measurement, since 1970"},
		{Name: "chrony.tracking.sys_time_off", Cluster: 0, Item: 4, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.4", Help: "Offset of the system clock from the estimated time"},
		{Name: "chrony.tracking.last_off", Cluster: 0, Item: 5, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.5", Help: "Offset at the last update of the clock"},
		{Name: "chrony.tracking.rms_off", Cluster: 0, Item: 6, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.6", Help: "Average of offsets over a long time"},
		{Name: "chrony.tracking.freq", Cluster: 0, Item: 7, Type: pcp.TypeDouble, Sem: instant, Key: "tracking.7", Help: "Error of the frequency of the system clock, in ppm"},
		{Name: "chrony.tracking.freq_resid", Cluster: 0, Item: 8, Type: pcp.TypeDouble, Sem: instant, Key: "tracking.8", Help: "Remaining error of the frequency by the reference, in ppm"},
		{Name: "chrony.tracking.skew", Cluster: 0, Item: 9, Type: pcp.TypeDouble, Sem: instant, Key: "tracking.9", Help: "Bound of the error of the frequency, in ppm"},
		{Name: "chrony.tracking.root_delay", Cluster: 0, Item: 10, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.10", Help: "Delay of the network to the computer with a reference clock"},
		{Name: "chrony.tracking.root_disp", Cluster: 0, Item: 11, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.11", Help: "Dispersion to the computer with a reference clock"},
		{Name: "chrony.tracking.update_interval", Cluster: 0, Item: 12, Type: pcp.TypeDouble, Sem: instant, Units: seconds, Key: "tracking.12", Help: "Time between the last two updates of the clock"},
		{Name: "chrony.tracking.leap_status", Cluster: 0, Item: 13, Type: pcp.TypeString, Sem: discrete, Key: "tracking.13", Help: "Normal, the leap second that is due, or Not synchronised"},
		{Name: "chrony.sources.m", Cluster: 1, Item: 0, Type: pcp.TypeString, InDom: sources, Sem: discrete, Key: "sources.0", Help: "Mode of the source: ^ server, = peer, # reference clock"},
		{Name: "chrony.sources.s", Cluster: 1, Item: 1, Type: pcp.TypeString, InDom: sources, Sem: discrete, Key: "sources.1", Help: "State: * selected, + combined, - not combined, x false, ~ varies, ? unusable"},
		{Name: "chrony.sources.stratum", Cluster: 1, Item: 3, Type: pcp.TypeU32, InDom: sources, Sem: discrete, Key: "sources.3", Help: "Stratum of the source"},
		{Name: "chrony.sources.poll", Cluster: 1, Item: 4, Type: pcp.TypeU32, InDom: sources, Sem: discrete, Key: "sources.4", Help: "Interval of requests to the source, as a power of two of seconds"},
		{Name: "chrony.sources.reach", Cluster: 1, Item: 5, Type: pcp.TypeU32, InDom: sources, Sem: instant, Key: "sources.5", Help: "Answers to the last eight requests, a bit each"},
		{Name: "chrony.sources.last_rx", Cluster: 1, Item: 6, Type: pcp.TypeU32, InDom: sources, Sem: instant, Units: seconds, Key: "sources.6", Help: "Age of the last good sample of the source"},
		{Name: "chrony.sources.last_sample.adjusted", Cluster: 1, Item: 7, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Units: seconds, Key: "sources.7", Help: "Offset of the last sample, with later corrections of the clock"},
		{Name: "chrony.sources.last_sample.measured", Cluster: 1, Item: 8, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Units: seconds, Key: "sources.8", Help: "Offset of the last sample, as measured"},
		{Name: "chrony.sources.last_sample.error", Cluster: 1, Item: 9, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Units: seconds, Key: "sources.9", Help: "Bound of the error of the last sample"},
		{Name: "chrony.sourcestats.np", Cluster: 2, Item: 1, Type: pcp.TypeU32, InDom: sources, Sem: discrete, Units: count, Key: "sourcestats.1", Help: "Samples of the source that are kept"},
		{Name: "chrony.sourcestats.nr", Cluster: 2, Item: 2, Type: pcp.TypeU32, InDom: sources, Sem: discrete, Units: count, Key: "sourcestats.2", Help: "Runs of residuals of the same sign after the last regression"},
		{Name: "chrony.sourcestats.span", Cluster: 2, Item: 3, Type: pcp.TypeU32, InDom: sources, Sem: instant, Units: seconds, Key: "sourcestats.3", Help: "Time between the oldest and the newest sample"},
		{Name: "chrony.sourcestats.freq", Cluster: 2, Item: 4, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Key: "sourcestats.4", Help: "Remaining error of the frequency by the source, in ppm"},
		{Name: "chrony.sourcestats.freq_skew", Cluster: 2, Item: 5, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Key: "sourcestats.5", Help: "Bound of the error of chrony.sourcestats.freq, in ppm"},
		{Name: "chrony.sourcestats.offset", Cluster: 2, Item: 6, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Units: seconds, Key: "sourcestats.6", Help: "Offset of the source, an estimate"},
		{Name: "chrony.sourcestats.std_dev", Cluster: 2, Item: 7, Type: pcp.TypeDouble, InDom: sources, Sem: instant, Units: seconds, Key: "sourcestats.7", Help: "Standard deviation of the samples, an estimate"},
	}
}
