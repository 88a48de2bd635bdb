// Package seriesapi answers the /series requests of PMWEBAPI(3): queries over
// many hosts and their archives, which Grafana sends.
//
//	h, err := seriesapi.New(seriesapi.Config{Store: store})
//	if err != nil {
//		return err
//	}
//	http.Handle("/series/", h)
//
// A command matches by prefix: /series/queryfoo is a query. Parameters are in the
// URL, or in the body of a POST without parameters in its URL. With the parameter
// client, the answer is an object with that value and the result.
//
//	/series/query?expr=E                     series, or values if the query has a time window
//	/series/values?series=S,S&start=…        values
//	/series/descs?series=S,S                 descriptors
//	/series/metrics?series=S,S | match=G     names of metrics
//	/series/instances?series=S,S | match=G   instances
//	/series/labels?series=S,S | match=G | names=N,N
//	/series/sources?source=S,S | match=G     names of hosts and archives
//	/series/load?expr=E                      look for new archives
//	/series/ping
package seriesapi
