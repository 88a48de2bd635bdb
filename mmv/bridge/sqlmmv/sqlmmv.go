package sqlmmv

import (
	"database/sql"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the metrics appear.
type Options = bridge.Options

// A Pool has the statistics of a pool of connections, as a *sql.DB has.
type Pool interface {
	Stats() sql.DBStats
}

// metric is one number of the statistics.
type metric struct {
	name, help string
	sem        pcp.Sem
	units      pcp.Units
	of         func(*sql.DBStats) int64
}

func all() []metric {
	count := bridge.Count()
	return []metric{
		{
			"open.max", "Most connections that may be open, 0 if there is no limit", pcp.SemDiscrete, count,
			func(s *sql.DBStats) int64 { return int64(s.MaxOpenConnections) },
		},
		{
			"open.count", "Connections open, in use or idle", pcp.SemInstant, count,
			func(s *sql.DBStats) int64 { return int64(s.OpenConnections) },
		},
		{
			"open.in_use", "Connections in use", pcp.SemInstant, count,
			func(s *sql.DBStats) int64 { return int64(s.InUse) },
		},
		{
			"open.idle", "Connections idle", pcp.SemInstant, count,
			func(s *sql.DBStats) int64 { return int64(s.Idle) },
		},
		{
			"wait.count", "Times somebody waited for a connection", pcp.SemCounter, count,
			func(s *sql.DBStats) int64 { return s.WaitCount },
		},
		{
			"wait.time", "Time spent waiting for connections", pcp.SemCounter,
			pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec},
			func(s *sql.DBStats) int64 { return int64(s.WaitDuration) },
		},
		{
			"closed.idle", "Connections closed because too many were idle", pcp.SemCounter, count,
			func(s *sql.DBStats) int64 { return s.MaxIdleClosed },
		},
		{
			"closed.idle_time", "Connections closed because they were idle for too long", pcp.SemCounter, count,
			func(s *sql.DBStats) int64 { return s.MaxIdleTimeClosed },
		},
		{
			"closed.lifetime", "Connections closed because they were too old", pcp.SemCounter, count,
			func(s *sql.DBStats) int64 { return s.MaxLifetimeClosed },
		},
	}
}

// Export publishes the statistics of a pool until Stop.
func Export(reg *mmv.Registry, db Pool, opt Options) *bridge.Exporter {
	metrics := all()
	return bridge.Start(reg, opt, func(s *bridge.Sink) error {
		stats := db.Stats()
		for i, m := range metrics {
			s.Metric(i, func() bridge.Def {
				return bridge.Def{Name: m.name, Help: m.help, Units: m.units, Sem: m.sem, Type: mmv.TypeI64, Single: true}
			}).SetInt(m.of(&stats))
		}
		return nil
	})
}
