//go:build tools

// Package tools keeps the server's module in go.mod.
package tools

import _ "go.etcd.io/etcd/server/v3"
