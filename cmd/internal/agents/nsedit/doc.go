// Package nsedit implements the tools that change name space files: pmnsmerge, pmnsadd,
// pmnsdel, and "pcp ns", which has them and the scripts of the C implementation:
// Rebuild, ReplacePmnsSubtree, lockpmns, unlockpmns and Make.stdpmid. They share a
// package since adding is a merge, and all of them replace a file in one step.
//
//	pmnsmerge -f root_linux root_pmcd root
//	pmnsadd -n root pmns
//	pmnsdel -n root sample simple.time
//	pcp ns rebuild -v
//
// Files with a _DATESTAMP are merged after those without, in the order of the stamps.
// The first group of a file to add determines the place of its names.
package nsedit
