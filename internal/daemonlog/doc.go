// Package daemonlog writes a daemon's log in the form that PCP's daemons have
// (pmOpenLog(3), pmNotifyErr(3)): a header, then lines such as
//
//	[Sat Nov 21 05:44:00] pmcd(3349) Info: agent dropped agent=simple
package daemonlog
