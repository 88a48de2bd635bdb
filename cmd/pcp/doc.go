// Command pcp is Performance Co-Pilot in one program. Its first argument
// selects the command; called through a link with the classic name of a command
// it runs that command.
//
//	pcp help                    list the commands
//	pcp info -f kernel.all.load
//	pcp links ~/bin             make the links: pminfo, pmval, ...
//	pminfo -f kernel.all.load
package main
