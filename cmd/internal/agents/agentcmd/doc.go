// Package agentcmd implements the commands that run one agent as a daemon, for a line
// in the configuration of any collector:
//
//	simple  253  pipe  binary  /usr/bin/pmdasimple -d 253
package agentcmd
