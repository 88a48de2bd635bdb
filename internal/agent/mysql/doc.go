// Package mysql is the agent for MySQL and MariaDB: what a server answers to SHOW GLOBAL STATUS, VARIABLES, PROCESSLIST and SLAVE STATUS.
//
//	a, err := mysql.New(mysql.Config{User: "dbmonitor", Password: "secret"})
//
// Connections of the server are instances, by number. Names and numbers of metrics are those of pmdamysql(1).
//
// The package speaks the protocol of MySQL itself, with TLS over TCP if the server offers it. It knows the authentication plugins mysql_native_password,
// caching_sha2_password, which needs a Unix socket or a checked certificate until the server has cached the password, and unix_socket.
package mysql
