// Package keys is a store of series in a key server, Redis or Valkey, by the second version of PCP's
// schema. pmseries(1) and pmproxy(1) of the C implementation read its keys, and it reads theirs.
//
//	store, err := keys.Open(ctx, keys.Config{Servers: []string{"localhost:6379"}})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	n, err := store.Load(ctx, "/var/log/pcp/pmlogger/www/20261127", keys.LoadOptions{})
//
// Keys, where ID is an identifier of package sid in hexadecimal digits; members and fields that are identifiers
// are 20 bytes:
//
//	pcp:version:schema                 2
//	pcp:map:metric.name                hash: identifier of a string, string
//	pcp:map:inst.name, pcp:map:label.name, pcp:map:context.name, pcp:map:label.ID.value
//	pcp:series:metric.name:ID          set: series with this name
//	pcp:series:inst.name:ID, pcp:series:context.name:ID, pcp:series:label.ID.value:ID
//	pcp:metric.name:series:ID          set: names of a series
//	pcp:desc:series:ID                 hash: indom, pmid, semantics, source, type, units
//	pcp:expr:series:ID                 hash: query
//	pcp:instances:series:ID            set: instances of a series
//	pcp:inst:series:ID                 hash: inst, name, source
//	pcp:labelvalue:series:ID           hash: name of a label, value of it; of a series or an instance
//	pcp:labelflags:series:ID           hash: name of a label, flags, unless they are those of a context's label
//	pcp:source:context.name:ID         set: sources of an archive or a host
//	pcp:context.name:source:ID         set: archives and hosts of a source
//	pcp:source:location                positions: sources
//	pcp:values:series:ID               stream: instance, value; "" without instances, -1 for an error
//
// The identifier of an entry in a stream is its time, in milliseconds and, behind the hyphen, microseconds.
//
// # Differences from the archives
//
// A stream has the last 8,640 values or so of a series, which are removed a day after the last of them.
// Numbers with a fraction have seven digits, and characters of strings outside ASCII are lost. There are no marks: an
// interruption of a recording is not seen. Values of instances that are gone are repeated, and labels of a series
// with instances are those common to all of them.
//
// # Durability
//
// Writers send commands in batches over one connection to each master, and a batch is done when the server has
// answered every command and, if the master has replicas, one of them has the batch too (WAIT). A batch without these answers
// is sent again, to the new master if there is one; equal values are not stored twice. So what a Loader reports as
// loaded survives the loss of a master. It does not survive the loss of a master and its replica, or of a server
// that does not write to its disk.
package keys
