// Package pmcd is the collector as a command, with the options of pmcd(1):
//
//	pmcd -f -p 44321 -s /run/pcp/pmcd.socket -c /etc/pcp/pmcd/pmcd.conf
package pmcd
