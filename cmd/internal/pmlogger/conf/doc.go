// Package conf reads the configuration of a recorder: which metrics pmlogger(1)
// records, how often, and which clients may change that.
//
//	log mandatory on every 10 seconds {
//		kernel.all.load [ "1 minute" ]
//		disk.dev
//	}
//	[access]
//	allow localhost : all;
//
// Parse takes the output of the preprocessor (pmcpp(1)): it understands lines
// that name a file and a line, so that messages give the original position of a
// mistake.
package conf
