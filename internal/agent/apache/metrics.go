package apache

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/service"
)

// metrics returns the table. The keys of the workers' states are the letters of the scoreboard.
func metrics() []service.Metric {
	const instant, counter = pcp.SemInstant, pcp.SemCounter
	count, kbytes, seconds := pcp.Units{DimCount: 1}, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	requestRate := pcp.Units{DimCount: 1, DimTime: -1, ScaleTime: pcp.TimeSec}
	byteRate := pcp.Units{DimSpace: 1, DimTime: -1, ScaleTime: pcp.TimeSec}
	bytesEach := pcp.Units{DimSpace: 1, DimCount: -1}
	return []service.Metric{
		{Name: "apache.total_accesses", Item: 0, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "Total Accesses", Help: "Requests served"},
		{Name: "apache.total_kbytes", Item: 1, Type: pcp.TypeU64, Sem: counter, Units: kbytes, Key: "Total kBytes", Help: "Kilobytes served"},
		{Name: "apache.uptime", Item: 2, Type: pcp.TypeU64, Sem: instant, Units: seconds, Key: "Uptime", Help: "Seconds since the server started"},
		{Name: "apache.requests_per_sec", Item: 3, Type: pcp.TypeDouble, Sem: instant, Units: requestRate, Key: "ReqPerSec", Help: "Requests a second, on average since the start"},
		{Name: "apache.bytes_per_sec", Item: 4, Type: pcp.TypeDouble, Sem: instant, Units: byteRate, Key: "BytesPerSec", Help: "Bytes a second, on average since the start"},
		{Name: "apache.bytes_per_requests", Item: 5, Type: pcp.TypeU32, Sem: instant, Units: bytesEach, Key: "BytesPerReq", Help: "Bytes for each request, on average since the start"},
		{Name: "apache.busy_servers", Item: 6, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "BusyServers", Help: "Workers that serve a request"},
		{Name: "apache.idle_servers", Item: 7, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "IdleServers", Help: "Workers that are idle"},
		{Name: "apache.sb_waiting", Item: 8, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "_", Help: "Workers that wait for a connection", Long: "Workers that wait for a connection.\nThe number of '_' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_starting", Item: 9, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "S", Help: "Workers that are starting", Long: "Workers that are starting.\nThe number of 'S' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_reading", Item: 10, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "R", Help: "Workers that read a request", Long: "Workers that read a request.\nThe number of 'R' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_writing_reply", Item: 11, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "W", Help: "Workers that send a reply", Long: "Workers that send a reply.\nThe number of 'W' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_keepalive", Item: 12, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "K", Help: "Workers that wait for another request on a connection", Long: "Workers that wait for another request on a connection.\nThe number of 'K' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_dns_lookup", Item: 13, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "D", Help: "Workers that look up a name", Long: "Workers that look up a name.\nThe number of 'D' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_logging", Item: 14, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "L", Help: "Workers that write to the log", Long: "Workers that write to the log.\nThe number of 'L' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_finishing", Item: 15, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "G", Help: "Workers that finish their last request", Long: "Workers that finish their last request.\nThe number of 'G' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_open_slot", Item: 16, Type: pcp.TypeU32, Sem: instant, Units: count, Key: ".", Help: "Places for workers that are free", Long: "Places for workers that are free.\nThe number of '.' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_closing", Item: 17, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "C", Help: "Workers that close a connection", Long: "Workers that close a connection.\nThe number of 'C' in the scoreboard on the page of mod_status."},
		{Name: "apache.sb_idle_cleanup", Item: 18, Type: pcp.TypeU32, Sem: instant, Units: count, Key: "I", Help: "Workers that are ended because they are idle", Long: "Workers that are ended because they are idle.\nThe number of 'I' in the scoreboard on the page of mod_status."},
		{Name: "apache.uptime_s", Item: 19, Type: pcp.TypeString, Sem: instant, Key: "uptime_s", Help: "Time since the server started, as a text", Long: "Days, hours, minutes and seconds of apache.uptime."},
	}
}
