// Package cdwait is pmcd_wait: it waits until a collector accepts connections.
//
//	pmcd_wait -h server7 -t '2 min' && pminfo -h server7 -f kernel.all.load
package cdwait
