// Package config is pmconfig: it prints the settings of the installation, or the
// features of this implementation.
//
//	pmconfig PCP_LOG_DIR
//	eval $(pmconfig -s)
//	pmconfig -L
package config
