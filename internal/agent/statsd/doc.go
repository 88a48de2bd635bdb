// Package statsd is the agent that receives StatsD and DogStatsD: programs send datagrams such as "orders:1|c", and the agent
// aggregates them into the metrics statsd.*, as pmdastatsd(1) does.
//
//	a, err := statsd.New(statsd.Config{Listen: []string{"127.0.0.1:8125", "/run/statsd.socket"}})
//
// A message has the form NAME[,TAG=VALUE...]:VALUE[:VALUE...]|TYPE[|@RATE][|#TAG:VALUE,...], and a datagram has one on each line:
//
//	c     counter; values are added, divided by the rate
//	g     gauge; a value with a sign is added, another one replaces the gauge
//	ms    duration in milliseconds; minimum, maximum, average, percentiles, …, as nine instances
//	h, d  histogram or distribution; likewise, without a unit
//	s     set; the number of different values
//
// Each set of tags is an instance, "/" without tags and "/a=1::b=2" with some, and has the tags as labels. The numbers of metrics
// and instances are kept in a file. Values begin with 0 in each run of the agent.
//
// What exceeds a limit, or is not a message, is dropped, counted by its reason and named in statsd.pmda.rejected and
// statsd.pmda.last_rejected.
package statsd
