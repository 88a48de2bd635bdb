package fileversion

// Versions of the formats, as in docs/upgrading.md. A change that an earlier release would misread raises the version.
const (
	Announcement   = 1 // of a collector of "pcp up"
	SavedAlerts    = 1 // of rules in Prometheus' format
	StatsdNames    = 1 // numbers of metrics
	PushedNames    = 1 // numbers of metrics
	AlertState     = 1 // the firing alerts of a process
	AlertSpool     = 1 // an alert for a receiver
	AlertQuiet     = 1 // silences, acknowledgements and the past of alerts
	RecordStatus   = 1 // of the recorder of a directory
	RecorderStatus = 1 // of a recorder of a fleet
	SendPosition   = 1 // in archives that are sent by remote write
	Pushed         = 1 // the archives that were pushed
	ArchiveIndex   = 1 // the archives of a day in a store
	Columns        = 1 // of an archive
	SeriesIndex    = 1 // of the series in archives
	CachedBlock    = 1 // of a file in a store
)
