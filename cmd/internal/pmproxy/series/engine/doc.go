// Package engine serves series from a database of the Prometheus family, which senders of this program have filled: Prometheus,
// VictoriaMetrics, Thanos, Mimir.
//
//	client, err := engine.Dial(engine.Config{URLs: []string{"http://localhost:8428"}})
//	if err != nil {
//		return err
//	}
//	store := engine.New(client)
//	defer store.Close()
//
// It finds series by those that describe metrics (names.Series). These have the identifiers of the archives, the names and descriptors of
// PCP and all labels. Instances are computed from the labels of samples. Samples are read by /api/v1/export where the database has that, and
// otherwise by range selectors.
//
// A database has numbers as float64 at times in milliseconds. It has no strings, errors, marks, or instances without values; and of the
// labels of instances it has the text, so that 1 and "1" are the same. [Join] adds what archives have of these.
//
// Several addresses of a Client are replicas, each with all samples. See [Client].
package engine
