// Package conf reads pmproxy.conf, the configuration of a proxy. A file has
// sections in brackets and lines of a key, an equals sign or colon, and a value.
// Lines that begin with # or ; are comments, as is text after white space and ;.
//
//	f, err := conf.ReadFile("/etc/pcp/pmproxy/pmproxy.conf")
//	for _, note := range f.Notes {
//		log.Warn(note)
//	}
//
// The package knows the settings of pmproxy 6.0.3, and its own:
//
//	[pmproxy]
//	pcp.enabled, http.enabled, secure.enabled    true or false
//	keepalive                                    seconds, 0 for never
//	certificates, private_key, authority,        as in tls.conf, and before it
//	cipher_list, cipher_suites
//	pcp.hosts       collectors that clients may reach: HOST or HOST:PORT, commas between
//	http.hosts      more names of this host, for requests over a loopback address
//	http.headers    headers that pages of other origins may send
//	http.tokens     path of a file of bearer tokens
//	http.auth       required or optional
//	http.trust      local or none: whether requests from this host may store values
//	http.sockets    authorised or anybody: who may name a Unix socket (local:, unix:PATH) as the collector
//	http.maxbody    the longest body of a request, in bytes
//	maxclients      how many connections there can be
//	redis.enabled   true or false: whether the protocol of key servers is forwarded
//
//	[pmseries], [pmsearch]
//	enabled         true or false: whether /series and /search are answered
//	engine          of [pmseries]: addresses of a database of the Prometheus family
//	engine.token    (also .user, .password, .ca, .cert, .key) files for the connection to it
//	columns         of [pmseries], true or false: whether finished archives get files of columns
//	count           of [pmsearch]: how many results an answer has
//
//	[pmlogger]
//	enabled         true or false: whether archives are received (/logger)
//	authenticate    true or false: whether clients must be authorised for that, as they must if nothing is set
//	hosts           patterns for the hosts whose archives are taken, commas between
//	timeout         milliseconds without a request after which an archive ends
//	keep            days after their last change for which archives are kept; they are then also compressed
//	quota           the limit of the bytes of a host's archives, such as 10gb; for tokens without their own
//
//	[discover]
//	enabled         true or false: whether archives of this host's loggers are series
//	exclude.metrics patterns of names of metrics that are not [proc.*,acct.*]
//	exclude.indoms  instance domains whose metrics are not [3.9,3.40,79.7]
//
//	[redis], [keys]
//	servers         where the protocol of key servers is forwarded to, the first one
//
// A setting without effect here produces a note with the reason.
package conf
