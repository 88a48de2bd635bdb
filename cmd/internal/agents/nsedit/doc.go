// Package nsedit is the tools that change name space files: pmnsmerge, pmnsadd,
// pmnsdel, and "pcp ns", which has them and what in the C implementation are scripts:
// Rebuild, ReplacePmnsSubtree, lockpmns, unlockpmns and Make.stdpmid. They share a
// package as adding is a merge, and all of them replace a file in one step.
//
//	pmnsmerge -f root_linux root_pmcd root
//	pmnsadd -n root pmns
//	pmnsdel -n root sample simple.time
//	pcp ns rebuild -v
//
// Files with a _DATESTAMP are merged after those without, in the order of the
// stamps. The first group of a file to add says where its names belong.
package nsedit
