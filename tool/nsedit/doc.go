// Package nsedit is the tools that change name space files: pmnsmerge, pmnsadd
// and pmnsdel. They share a package as adding is a merge.
//
//	pmnsmerge -f root_linux root_pmcd root
//	pmnsadd -n root pmns
//	pmnsdel -n root sample simple.time
//
// Files with a _DATESTAMP are merged after those without, in the order of the
// stamps. The first group of a file to add says where its names belong.
package nsedit
