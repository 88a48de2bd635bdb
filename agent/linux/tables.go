package linux

// tables returns all tables of metrics.
func tables() [][]metric {
	return [][]metric{
		kernelMetrics,
		memMetrics,
		vmstatMetrics,
		zoneMetrics,
		diskMetrics,
		netdevMetrics,
		netMetrics,
		filesysMetrics,
		hinvMetrics,
		miscMetrics,
	}
}
