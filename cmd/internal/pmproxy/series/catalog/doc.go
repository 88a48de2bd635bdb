// Package catalog reads from the metadata of an archive which series it has: the identifiers of metrics, instances and the source, and their
// labels.
//
//	c, err := catalog.Read(a)
//	for _, m := range c.Metrics {
//		fmt.Println(m.ID, m.Name)
//	}
//
// The index of archives and the senders of samples have the same identifiers by it.
package catalog
