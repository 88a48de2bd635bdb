package screen

import "slices"

// Help describes the keys on a terminal.
const Help = `Lists of processes:
  g  what each does (default)          m  memory
  d  disks                             n  network
  s  scheduling and threads            e  graphics processors
  v  parents, users, dates, states     c  command lines
  X  control groups                    o  the columns that an atoprc has
  u  sums for each user                p  sums for each program
  j  sums for each container

Orders of processes:
  C  processors                        M  memory
  D  disks                             N  network
  E  graphics processors               A  the resource that is used most

Which processes and resources (shown in the first line):
  U  users, by a regular expression    P  programs, by a regular expression
  I  processes, by their numbers       /  command lines, by an expression
  J  a container                       Q  states
  S  disks, volumes and interfaces     l  how many lines of each resource
  a  all processes or active ones      G  without those that have ended

How they are shown:
  y  threads                           Y  threads sorted
  f  resources that are not active too F  resources not sorted
  1  averages per second               x  no colors
  R  proportional sizes (PSIZE)        W  where threads wait (WCHAN)

Time:
  t  next sample                       T  sample before (archives)
  b  sample of a time (archives)       r  from the beginning
  i  another interval                  z  pause

Others:
  arrows, PgUp, PgDn, ^F, ^B           move in the list and in command lines
  k  send a signal to a process        V  version
  ^L draw anew                         h, ?  this help
  q  quit
`

// Clone returns a copy of the canvas.
func (c *Canvas) Clone() *Canvas {
	d := *c
	d.spots = slices.Clone(c.spots)
	return &d
}
